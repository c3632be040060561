import { createHash } from 'node:crypto';
import { RESOURCES, type KubeObject } from '../../gateway/kube/resource.ts';
import { sortKeys } from '../resolve/config-check.ts';
import { ownedObject, type Owned, GATEWAYS, type Additions } from './owned.ts';
import type { JsonObject } from '../../gateway/contract/json.ts';
import type { RenderOptions } from './options.ts';
import { API_GROUP } from '../../gateway/contract/api-group.ts';
import type { MCPServer, VirtualMCPServer } from '../resolve/snapshot.ts';
import { authenticatesClients, hasOwnGateway } from '../resolve/fields/controls.ts';
import { listeningPort } from '../resolve/own-gateway.ts';
import { MANAGEMENT_PORT, PUBLIC_PORT, SIDECAR_MANAGEMENT_PORT } from './gateway.ts';
import type { GatewayConfig } from '../../gateway/contract/gateway-config.ts';
import { routedPaths } from '../../gateway/contract/paths/public-paths.ts';

type Files = Readonly<Record<string, string>>;

/** Renders a ConfigMap with one document as JSON, and further files. Equal documents give equal bytes. */
export const documentConfigMap = (
  owned: Owned,
  name: string,
  { key, document, files = {} }: { readonly key: string; readonly document: object; readonly files?: Files },
): KubeObject => ownedObject(owned, RESOURCES.ConfigMap, name, { data: { ...files, [key]: documentText(document) } });

const documentText = (document: object): string => `${JSON.stringify(sortKeys(document), null, 2)}\n`;

/** Returns the checksum of a document and further files. Pods whose template contains it are replaced when the content changes. */
export const documentChecksum = (document: object, files: Files = {}): string =>
  [documentText(document), ...Object.values(files)]
    .reduce((hash, text) => hash.update(text), createHash('sha256'))
    .digest('hex');

interface Exposure {
  readonly type?: string | undefined;
  readonly sessionAffinity?: string | undefined;
  readonly port: number;
  /** Further members of the spec. */
  readonly balancer?: JsonObject;
}

/** Renders a Service with one port, which targets the port `http` of the pods. */
export const service = (
  owned: Owned,
  name: string,
  { type = 'ClusterIP', sessionAffinity = 'ClientIP', port, balancer }: Exposure,
  additions?: Additions,
): KubeObject =>
  ownedObject(
    owned,
    RESOURCES.Service,
    name,
    {
      spec: {
        ports: [{ name: 'http', port, protocol: 'TCP', targetPort: 'http' }],
        selector: owned.selector,
        sessionAffinity,
        type,
        ...balancer,
      },
    },
    additions,
  );

/** Renders a budget for several replicas: a drain evicts pods one after another. A pod that is not ready never blocks a drain. */
export const podDisruptionBudget = (
  owned: Owned,
  name: string,
  replicas: number | undefined,
  { podDisruptionBudgets }: RenderOptions,
): KubeObject[] =>
  podDisruptionBudgets && (replicas ?? 1) > 1
    ? [
        ownedObject(owned, RESOURCES.PodDisruptionBudget, name, {
          spec: {
            maxUnavailable: 1,
            selector: { matchLabels: owned.selector },
            unhealthyPodEvictionPolicy: 'AlwaysAllow',
          },
        }),
      ]
    : [];

/** Label of namespaces whose pods can read metrics. */
const MONITORING_LABEL = { [`${API_GROUP}/monitoring`]: 'true' };

const tcp = (port: number) => [{ port, protocol: 'TCP' }];

const forMonitoring = (port: number): JsonObject => ({
  from: [{ namespaceSelector: { matchLabels: MONITORING_LABEL } }],
  ports: tcp(port),
});

/** Renders the policy of a gateway: the endpoint is open to all, metrics to monitoring namespaces. */
export const gatewayNetworkPolicy = (owned: Owned, name: string, options: RenderOptions): KubeObject[] =>
  policy(owned, name, options, [{ ports: tcp(PUBLIC_PORT) }, forMonitoring(MANAGEMENT_PORT)]);

/**
 * Renders the policy of a server: only gateways of its namespace can connect, unless its own gateway authenticates
 * clients. Beside a gateway nobody can connect to the port of the server itself.
 */
export function serverNetworkPolicy(
  server: MCPServer,
  owned: Owned,
  name: string,
  options: RenderOptions,
): KubeObject[] {
  const { spec } = server;
  const from = authenticatesClients(server) ? {} : { from: [{ podSelector: { matchLabels: GATEWAYS } }] };
  const isStdio = transportOf(spec) === 'stdio';
  return policy(
    owned,
    name,
    options,
    isStdio || hasOwnGateway(server)
      ? [{ ...from, ports: tcp(PUBLIC_PORT) }, forMonitoring(isStdio ? MANAGEMENT_PORT : SIDECAR_MANAGEMENT_PORT)]
      : [{ ...from, ports: tcp(listeningPort(spec)) }],
  );
}

/** Renders an ingress policy. Egress is not restricted. */
const policy = (
  owned: Owned,
  name: string,
  { networkPolicies }: RenderOptions,
  ingress: readonly JsonObject[],
): KubeObject[] =>
  networkPolicies
    ? [
        ownedObject(owned, RESOURCES.NetworkPolicy, name, {
          spec: { ingress, podSelector: { matchLabels: owned.selector }, policyTypes: ['Ingress'] },
        }),
      ]
    : [];

/** Renders the ServiceAccount of pods that the operator creates. Only pods that need its token mount it. */
export function serviceAccount(
  owned: Owned,
  name: string,
  imagePullSecrets: readonly { readonly name: string }[],
  { openshift }: RenderOptions,
): KubeObject {
  // OpenShift also writes this list, which cannot be merged. The pods list the Secrets as well.
  const named = imagePullSecrets.length > 0 && !openshift;
  return ownedObject(owned, RESOURCES.ServiceAccount, name, {
    automountServiceAccountToken: false,
    ...(named && { imagePullSecrets }),
  });
}

/** Renders a Role and its binding to a ServiceAccount of the namespace. */
export function roleFor(owned: Owned, name: string, account: string, rules: readonly JsonObject[]): KubeObject[] {
  const { namespace } = owned.object;
  return [
    ownedObject(owned, RESOURCES.Role, name, { rules }),
    ownedObject(owned, RESOURCES.RoleBinding, name, {
      roleRef: { apiGroup: RESOURCES.Role.group, kind: 'Role', name },
      subjects: [{ kind: 'ServiceAccount', name: account, namespace }],
    }),
  ];
}

/** Returns the rules of a gateway in front of a group: it watches its backends and writes its part of one status. */
export const gatewayRules = (name: string, backendsConfigMap: string): readonly JsonObject[] => [
  {
    apiGroups: [''],
    resourceNames: [backendsConfigMap],
    resources: ['configmaps'],
    verbs: ['get', 'list', 'watch'],
  },
  { apiGroups: [API_GROUP], resourceNames: [name], resources: ['virtualmcpservers'], verbs: ['get'] },
  {
    apiGroups: [API_GROUP],
    resourceNames: [name],
    resources: ['virtualmcpservers/status'],
    verbs: ['get', 'patch', 'update'],
  },
];

/** Returns the rules of a gateway beside one stdio server: it attaches to the server in its own pod. */
export const attachRules = (pod: string): readonly JsonObject[] => [
  { apiGroups: [''], resourceNames: [pod], resources: ['pods'], verbs: ['get'] },
  { apiGroups: [''], resourceNames: [pod], resources: ['pods/attach'], verbs: ['create', 'get'] },
];

type Route = NonNullable<VirtualMCPServer['spec']['route']>;

/** Service that a route leads to. */
interface Target {
  readonly name: string;
  readonly port: number;
}

/** Matches that a rule may have in every version of the API: 8 until 1.1, 64 since. */
const MAX_MATCHES = 8;
/** No limit: a call may take long, and event streams do not end. */
const STREAM_TIMEOUTS = { request: '0s' };

/**
 * Renders the HTTPRoute with the public paths of a virtual server. Defaults of the API are written out, because a rule must not get
 * further members.
 */
export function httpRoute(owned: Owned, target: Target, route: Route, config: GatewayConfig): KubeObject {
  const { parentRefs, hostnames, timeouts = STREAM_TIMEOUTS, labels = {}, annotations = {} } = route;
  const { streams, exact, below } = routedPaths(config);
  const backendRefs = [{ group: '', kind: 'Service', name: target.name, port: target.port, weight: 1 }];
  const limits = Object.keys(timeouts).length > 0 ? { timeouts } : {};
  return ownedObject(
    owned,
    RESOURCES.HTTPRoute,
    target.name,
    {
      spec: {
        parentRefs: parentRefs.map(({ kind = 'Gateway', ...parent }) => ({ group: GATEWAY_API, kind, ...parent })),
        ...(hostnames && hostnames.length > 0 && { hostnames }),
        rules: [
          { backendRefs, matches: streams.map((path) => match('PathPrefix', path)), ...limits },
          ...inPieces([
            ...exact.map((path) => match('Exact', path)),
            ...below.map((path) => match('PathPrefix', path)),
          ]).map((matches) => ({ backendRefs, matches })),
        ],
      },
    },
    { labels, annotations },
  );
}

const GATEWAY_API = RESOURCES.HTTPRoute.group;

const match = (type: 'Exact' | 'PathPrefix', value: string): JsonObject => ({ path: { type, value } });

const inPieces = (matches: readonly JsonObject[]): JsonObject[][] =>
  Array.from({ length: Math.ceil(matches.length / MAX_MATCHES) }, (_, piece) =>
    matches.slice(piece * MAX_MATCHES, (piece + 1) * MAX_MATCHES),
  );

type Spec = MCPServer['spec'];

const DEFAULT_PORT = 8080;

export const transportOf = ({ transport = 'stdio' }: Spec): NonNullable<Spec['transport']> => transport;

/** Returns the port of its Service. */
export const servicePort = ({ proxyPort = DEFAULT_PORT }: Spec): number => proxyPort;
