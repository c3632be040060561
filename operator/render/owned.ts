import { API_GROUP } from '../../gateway/contract/api-group.ts';
import { apiVersionOf, type KubeObject, type OwnerReference, type ResourceType } from '../../gateway/kube/resource.ts';
import type { ObjectRef, ObjectProblem, Mount } from '../resolve/scope.ts';
import { type JsonObject, isObject } from '../../gateway/contract/json.ts';
import { sortKeys } from '../resolve/config-check.ts';
import { compareText } from '../resolve/snapshot.ts';
import type { GatewayConfig } from '../../gateway/contract/gateway-config.ts';
import type { RenderOptions } from './options.ts';

/** Metadata that all objects of one custom resource share. */
export interface Owned {
  readonly object: ObjectRef;
  readonly owner: OwnerReference;
  readonly labels: Texts;
  /** Labels and annotations of the resource that its objects inherit. */
  readonly inherited: Additions;
  /** Labels that select its pods. They never change, because a Deployment's selector is immutable. */
  readonly selector: Texts;
}

const COMPONENTS = { VirtualMCPServer: 'gateway', MCPServer: 'server' } as const;
const COMPONENT = 'app.kubernetes.io/component';
const MANAGED_BY = { 'app.kubernetes.io/managed-by': 'vmcp-operator' };

/** Labels of the pods of all VirtualMCPServers. */
export const GATEWAYS: Texts = { [COMPONENT]: COMPONENTS.VirtualMCPServer, ...MANAGED_BY };

/** Returns the labels that select the pods of a custom resource. */
export const selectorOf = (kind: keyof typeof COMPONENTS, name: string): Texts => ({
  'app.kubernetes.io/instance': name,
  'app.kubernetes.io/name': kind.toLowerCase(),
});

export function ownedBy(
  kind: keyof typeof COMPONENTS,
  metadata: { readonly name: string; readonly namespace?: string } & Additions,
  owner: OwnerReference,
): Owned {
  const { name, namespace = 'default' } = metadata;
  const selector = selectorOf(kind, name);
  const labels = {
    app: kind.toLowerCase(),
    ...selector,
    [COMPONENT]: COMPONENTS[kind],
    ...MANAGED_BY,
    'app.kubernetes.io/part-of': 'vmcp',
  };
  return { object: { kind, namespace, name }, owner, labels, inherited: inheritedFrom(metadata), selector };
}

/** Renders an object that Kubernetes deletes with its owner. */
export function ownedObject(
  { object, owner, labels, inherited }: Owned,
  type: ResourceType,
  name: string,
  members: JsonObject,
  additions: Additions = {},
): KubeObject {
  return {
    apiVersion: apiVersionOf(type),
    kind: type.kind,
    metadata: {
      name,
      namespace: object.namespace,
      ownerReferences: [owner],
      ...metadataOf(
        labels,
        {},
        {
          labels: { ...inherited.labels, ...additions.labels },
          annotations: { ...inherited.annotations, ...additions.annotations },
        },
      ),
    },
    ...members,
  };
}

/** Returns the metadata of pods. They inherit labels; a change of a resource's annotations must not replace them. */
export const podMetadata = ({ labels, inherited }: Owned, annotations: Texts, additions: Additions = {}): Additions =>
  metadataOf(labels, annotations, { ...additions, labels: { ...inherited.labels, ...additions.labels } });

/** Merges labels and annotations with a user's additions. */
function metadataOf(labels: Texts, annotations: Texts, additions: Additions = {}): Additions {
  const both = { ...additions.annotations, ...annotations };
  return {
    labels: { ...additions.labels, ...labels },
    ...(Object.keys(both).length > 0 && { annotations: both }),
  };
}

export const CHECKSUM_ANNOTATION = `${API_GROUP}/runconfig-checksum`;

type Texts = Readonly<Record<string, string>>;

/** Labels and annotations that a user adds. The operator's take precedence. */
export interface Additions {
  readonly labels?: Texts;
  readonly annotations?: Texts;
}

/**
 * Domains whose labels and annotations describe the resource itself: Kubernetes, vmcp, and tools that apply resources. Such a tool
 * regards each object with its mark as its own, and may delete it.
 */
const DOMAINS_OF_THE_RESOURCE = [
  'argoproj.io',
  'cattle.io',
  'crossplane.io',
  'fluxcd.io',
  'gke.io',
  'helm.sh',
  'k14s.io',
  'k8s.io',
  'kubernetes.io',
  'openshift.io',
  'pulumi.com',
  'vmcp.dev',
];

/** Returns the labels and annotations of a resource that its objects inherit. */
const inheritedFrom = ({ labels = {}, annotations = {} }: Additions): Additions => ({
  labels: inheritable(labels),
  annotations: inheritable(annotations),
});

const inheritable = (texts: Texts): Texts =>
  Object.fromEntries(Object.entries(texts).filter(([key]) => !describesTheResource(key)));

function describesTheResource(key: string): boolean {
  const [domain, name] = key.split('/');
  if (name === undefined || domain === undefined) return false;
  return DOMAINS_OF_THE_RESOURCE.some((each) => domain === each || domain.endsWith(`.${each}`));
}

export type NamedObject = JsonObject & { readonly name: string };

/** Sorts objects by kind and name, and members by name, so that equal input gives equal bytes. */
export const inOrder = (objects: readonly KubeObject[]): { readonly objects: KubeObject[] } => ({
  objects: objects
    .toSorted((a, b) => compareText(a.kind, b.kind) || compareText(a.metadata.name, b.metadata.name))
    .map((object) => sortKeys(object)),
});

/** Resolved configuration of a gateway, and the files that it refers to. */
export interface ResolvedConfig {
  readonly config: GatewayConfig;
  readonly mounts: readonly Mount[];
  /** Present when only a single pod can serve, although the resource sets no number of pods. */
  readonly onePod?: string | undefined;
}

/**
 * Returns the number of pods to render; undefined leaves it to an autoscaler. Where only a single pod can serve, the
 * operator owns the number, and reverts changes by others.
 */
export const podsOf = (
  replicas: number | undefined,
  { onePod }: Pick<ResolvedConfig, 'onePod'> = {},
): number | undefined => replicas ?? (onePod === undefined ? undefined : 1);

interface Named {
  readonly name: string;
}

/** Lists the image pull Secrets: the resource's own, then the installation's. */
export const pullSecrets = (own: readonly Named[] = [], installation: readonly string[] = []): readonly Named[] =>
  [...new Set([...own.map(({ name }) => name), ...installation])].map((name) => ({ name }));

/** Returns the members of every pod. Service links are off: many Services would fill the environment with variables. */
export const podDefaults = ({ selector }: Owned, imagePullSecrets: readonly Named[]): JsonObject => ({
  enableServiceLinks: false,
  ...(imagePullSecrets.length > 0 && { imagePullSecrets }),
  topologySpreadConstraints: [
    {
      labelSelector: { matchLabels: selector },
      maxSkew: 1,
      topologyKey: 'kubernetes.io/hostname',
      whenUnsatisfiable: 'ScheduleAnyway',
    },
  ],
});

/** Settings that Pod Security `restricted` requires. The image chooses the user. */
export const RESTRICTED_POD: JsonObject = { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } };
export const RESTRICTED_CONTAINER: JsonObject = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
};

/** Rollout that starts new pods before it stops old pods. */
export const ROLLING: JsonObject = { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 }, type: 'RollingUpdate' };

/** Returns a `preStop` sleep: connections still arrive until every node knows that the pod stops. */
export const sleepBeforeStop = (seconds: number): JsonObject => ({ preStop: { sleep: { seconds } } });

/** Account of pods that name no account. */
const DEFAULT_ACCOUNT = 'default';

/** Rejects pods that would run as the operator. `before` is the template without the user's patch. */
export function accountProblems(
  { object }: Owned,
  { serviceAccount }: { readonly serviceAccount?: string },
  before: JsonObject,
  patched: JsonObject,
  { operatorAccount }: RenderOptions,
): ObjectProblem[] {
  const account = accountOf(patched);
  if (operatorAccount?.namespace !== object.namespace || operatorAccount.name !== account) return [];
  const path =
    accountOf(before) !== account
      ? 'spec.podTemplateSpec.spec.serviceAccountName'
      : serviceAccount === undefined
        ? 'metadata.name'
        : 'spec.serviceAccount';
  const message = `the pods would run as "${account}", the operator's own account: use another account or another namespace`;
  return [{ ...object, path, reason: 'ReservedAccount', message }];
}

const accountOf = ({ spec }: JsonObject): unknown =>
  isObject(spec) ? (spec['serviceAccountName'] ?? DEFAULT_ACCOUNT) : DEFAULT_ACCOUNT;
