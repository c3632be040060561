import { RESOURCES, type KubeObject, type OwnerReference, type ResourceType } from '../../gateway/kube/resource.ts';

/** Kinds that the operator makes, in the order in which they are applied: a workload comes when all that it uses is there. */
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
];

const WORKLOADS: ReadonlySet<string> = new Set(['Deployment', 'StatefulSet']);
const RANK: ReadonlyMap<string, number> = new Map(OWNED_TYPES.map(({ kind }, rank) => [kind, rank]));

/** What pods come from. */
export const isWorkload = ({ kind }: Pick<KubeObject, 'kind'>): boolean => WORKLOADS.has(kind);

/** A copy in the order in which objects are applied. */
export const inOrder = (objects: readonly KubeObject[]): KubeObject[] =>
  objects.toSorted((a, b) => (RANK.get(a.kind) ?? 0) - (RANK.get(b.kind) ?? 0));

/** Kinds that the API server refuses before the objects that they refer to exist. */
const FOLLOWERS: ReadonlySet<string> = new Set(['RoleBinding']);
const stageOf = (object: KubeObject): number => (isWorkload(object) ? 2 : FOLLOWERS.has(object.kind) ? 1 : 0);

/** The objects in groups that are applied one after another: those of one group do not need each other. */
export function inStages(objects: readonly KubeObject[]): KubeObject[][] {
  const sorted = inOrder(objects);
  return [0, 1, 2].map((stage) => sorted.filter((each) => stageOf(each) === stage)).filter(({ length }) => length > 0);
}

/** The reference that makes `owner` the controller of an object: the object goes when its owner does. */
export const ownerReferenceOf = ({ apiVersion, kind, metadata }: KubeObject): OwnerReference => ({
  apiVersion,
  kind,
  name: metadata.name,
  uid: metadata.uid ?? '',
  controller: true,
  blockOwnerDeletion: true,
});

/** Whose an object is, seen from one that would like to be its owner. */
export type Ownership =
  | 'ours'
  /** Of an object of the same name that is gone. */
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
