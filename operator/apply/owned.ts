import { RESOURCES, type KubeObject, type OwnerReference, type ResourceType } from '../../gateway/kube/resource.ts';

/** Kinds that the operator creates, in the order of applying: workloads after the objects that they use, routes to them last. */
export const OWNED_TYPES: readonly ResourceType[] = [
  RESOURCES.ServiceAccount,
  RESOURCES.Role,
  RESOURCES.RoleBinding,
  RESOURCES.ConfigMap,
  RESOURCES.Service,
  RESOURCES.NetworkPolicy,
  RESOURCES.PodDisruptionBudget,
  RESOURCES.Deployment,
  RESOURCES.StatefulSet,
  RESOURCES.HTTPRoute,
];

const WORKLOADS: ReadonlySet<string> = new Set(['Deployment', 'StatefulSet']);
const RANK: ReadonlyMap<string, number> = new Map(OWNED_TYPES.map(({ kind }, rank) => [kind, rank]));

/** Returns true for kinds that create pods. */
export const isWorkload = ({ kind }: Pick<KubeObject, 'kind'>): boolean => WORKLOADS.has(kind);

/** Kinds that pods of an earlier spec may still need, and the workloads that created these pods. */
const NEEDED_BY_PODS: ReadonlySet<string> = new Set([
  ...WORKLOADS,
  ...[RESOURCES.ServiceAccount, RESOURCES.Role, RESOURCES.RoleBinding, RESOURCES.ConfigMap].map(({ kind }) => kind),
]);

export const isNeededByPods = ({ kind }: KubeObject): boolean => NEEDED_BY_PODS.has(kind);

/** Returns a copy in the order of applying. */
export const inApplyOrder = (objects: readonly KubeObject[]): KubeObject[] =>
  objects.toSorted((a, b) => (RANK.get(a.kind) ?? 0) - (RANK.get(b.kind) ?? 0));

/** Kinds that the API server rejects until the objects that they refer to exist. */
const FOLLOWERS: ReadonlySet<string> = new Set(['RoleBinding']);

/** Returns the stage of an object. A route that the API server rejects must not hold up the workloads, so it comes last. */
function stageOf(object: KubeObject): number {
  if (object.kind === RESOURCES.HTTPRoute.kind) return 3;
  if (isWorkload(object)) return 2;
  return FOLLOWERS.has(object.kind) ? 1 : 0;
}

/** Groups objects into stages that are applied in sequence. Objects of one stage do not depend on each other. */
export function inStages(objects: readonly KubeObject[]): KubeObject[][] {
  const sorted = inApplyOrder(objects);
  return [0, 1, 2, 3]
    .map((stage) => sorted.filter((each) => stageOf(each) === stage))
    .filter(({ length }) => length > 0);
}

/** Returns the reference that makes `owner` the controller of an object, which is deleted with its owner. */
export const ownerReferenceOf = ({ apiVersion, kind, metadata }: KubeObject): OwnerReference => ({
  apiVersion,
  kind,
  name: metadata.name,
  uid: metadata.uid ?? '',
  controller: true,
  blockOwnerDeletion: true,
});

/** Relation of an existing object to an owner. */
export type Ownership =
  | 'ours'
  /** Controlled by a deleted object of the same name. */
  | 'left-over'
  | 'foreign';

export function ownership(live: KubeObject, owner: KubeObject): Ownership {
  const controller = live.metadata.ownerReferences?.find((reference) => reference.controller === true);
  if (!controller) return 'foreign';
  if (controller.uid === owner.metadata.uid) return 'ours';
  const sameName =
    controller.apiVersion === owner.apiVersion &&
    controller.kind === owner.kind &&
    controller.name === owner.metadata.name;
  return sameName ? 'left-over' : 'foreign';
}
