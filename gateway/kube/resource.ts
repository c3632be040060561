import { API_GROUP, API_VERSION, pluralOf } from '../contract/api-group.ts';

/** A kind of the API server and its path. `group` is '' for the core group. */
export interface ResourceType {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  /** True for a kind of an extension, which a cluster may lack. */
  readonly optional?: true;
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
  readonly deletionTimestamp?: string;
  readonly creationTimestamp?: string;
}

export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly [member: string]: unknown;
}

const core = (kind: string, plural: string): ResourceType => ({ group: '', version: 'v1', kind, plural });
const of = (group: string, kind: string, plural: string): ResourceType => ({ group, version: 'v1', kind, plural });

/** Kinds, except our own, that the operator or a gateway reads or writes. */
export const RESOURCES = {
  Deployment: of('apps', 'Deployment', 'deployments'),
  StatefulSet: of('apps', 'StatefulSet', 'statefulsets'),
  Service: core('Service', 'services'),
  ConfigMap: core('ConfigMap', 'configmaps'),
  Secret: core('Secret', 'secrets'),
  ServiceAccount: core('ServiceAccount', 'serviceaccounts'),
  Role: of('rbac.authorization.k8s.io', 'Role', 'roles'),
  RoleBinding: of('rbac.authorization.k8s.io', 'RoleBinding', 'rolebindings'),
  PodDisruptionBudget: of('policy', 'PodDisruptionBudget', 'poddisruptionbudgets'),
  NetworkPolicy: of('networking.k8s.io', 'NetworkPolicy', 'networkpolicies'),
  HTTPRoute: { ...of('gateway.networking.k8s.io', 'HTTPRoute', 'httproutes'), optional: true },
  Lease: of('coordination.k8s.io', 'Lease', 'leases'),
  Event: core('Event', 'events'),
  Pod: core('Pod', 'pods'),
  Namespace: core('Namespace', 'namespaces'),
} as const satisfies Readonly<Record<string, ResourceType>>;

/** Returns the apiVersion of an object: `v1`, `apps/v1`. */
export const apiVersionOf = ({ group, version }: ResourceType): string =>
  group === '' ? version : `${group}/${version}`;

const byKind = new Map<string, ResourceType>(
  Object.values(RESOURCES).map((type) => [`${apiVersionOf(type)} ${type.kind}`, type]),
);

export const OWN_API_VERSION = `${API_GROUP}/${API_VERSION}`;

/** Returns the type of a kind of our own API group. */
export const ownType = (kind: string): ResourceType => ({
  group: API_GROUP,
  version: API_VERSION,
  kind,
  plural: pluralOf(kind),
});

/** Returns the type of an object. Throws on a kind that is neither in `RESOURCES` nor in our own API group. */
export function resourceOf({ apiVersion, kind }: Pick<KubeObject, 'apiVersion' | 'kind'>): ResourceType {
  if (apiVersion === OWN_API_VERSION) return ownType(kind);
  const type = byKind.get(`${apiVersion} ${kind}`);
  if (!type) throw new Error(`no resource is known for ${apiVersion} ${kind}`);
  return type;
}

export interface Place {
  /** Absent: all namespaces, or a kind that has none. */
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly subresource?: string | undefined;
}

/** Returns the path of an object, of one of its subresources, or of all objects of a kind. */
export function pathOf(type: ResourceType, { namespace, name, subresource }: Place): string {
  const root = type.group === '' ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`;
  return [
    root,
    ...(namespace === undefined ? [] : ['namespaces', encodeURIComponent(namespace)]),
    type.plural,
    ...(name === undefined ? [] : [encodeURIComponent(name)]),
    ...(subresource === undefined ? [] : [subresource]),
  ].join('/');
}

/** Returns true when version `a` equals `b` or is newer; no version is the oldest. resourceVersions are ordered integers. */
export const isAsNewAs = (a = '', b = ''): boolean => (a.length === b.length ? a >= b : a.length > b.length);

/** Returns a key that is unique across kinds. */
export const objectKey = ({ kind, metadata }: Pick<KubeObject, 'kind' | 'metadata'>): string =>
  `${kind}/${metadata.namespace ?? ''}/${metadata.name}`;
