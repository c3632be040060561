import { RESTRICTED_CONTAINER, sleepBeforeStop, type NamedObject, type Owned } from './owned.ts';
import { type RenderOptions, CLUSTER_PLATFORM } from './options.ts';
import type { JsonObject } from '../../gateway/contract/json.ts';
import type { Mount } from '../resolve/scope.ts';
import { compareText, type MCPServer, type VirtualMCPServer } from '../resolve/snapshot.ts';
import type { DiscoveredBackends } from '../../gateway/contract/discovered-backends.ts';
import type { GatewayConfig } from '../../gateway/contract/gateway-config.ts';
import { SCHEMA_VERSION } from '../../gateway/contract/run-config/run-config.ts';
import { podBackend } from '../resolve/own-gateway.ts';

export const GATEWAY_CONTAINER = 'vmcp';
export const PUBLIC_PORT = 4483;
export const MANAGEMENT_PORT = 8080;
/** Management port beside a server that speaks HTTP, which listens on 8080 by default. */
export const SIDECAR_MANAGEMENT_PORT = 4484;
/** User and group of the image. */
const NONROOT = 65532;
const CONFIG_FOLDER = '/etc/vmcp/config';
const CONFIG_FILE = 'config.json';
/** Key of the CAs in the ConfigMap of the configuration. */
const CA_KEY = 'ca.crt';
const DRAIN_SLEEP_S = 5;
/** Grace period: the sleep, 30 s for running calls, and a margin. */
export const GRACE_S = 45;

/** Resources of a gateway. `heapMi` is three quarters of the limit, the rest is memory outside of the heap. */
export interface Size {
  readonly cpu: string;
  readonly memory: string;
  readonly limit: string;
  readonly heapMi: number;
}

/** The gateway's container and its volumes. */
export interface GatewayPart {
  readonly container: NamedObject;
  readonly volumes: readonly JsonObject[];
}

/** A volume and its mount path in the gateway's container. */
export interface GatewayVolume {
  readonly volume: NamedObject;
  readonly mountPath: string;
}

/** Renders the gateway's container. `prefix` separates its volume names from those of other containers. */
export function gatewayPart(
  { object }: Owned,
  options: RenderOptions,
  parts: {
    readonly configMap: string;
    readonly size: Size;
    readonly prefix?: string;
    readonly volumes?: readonly GatewayVolume[];
    readonly securityContext?: JsonObject;
    readonly managementPort?: number;
  },
): GatewayPart {
  const { configMap, size, prefix = '', volumes = [], securityContext = {} } = parts;
  const { managementPort = MANAGEMENT_PORT } = parts;
  const config = { volume: { configMap: { name: configMap }, name: `${prefix}config` }, mountPath: CONFIG_FOLDER };
  const readable = [config, ...volumes];
  const tmp = `${prefix}tmp`;
  return {
    volumes: [...readable.map(({ volume }) => volume), { emptyDir: { sizeLimit: '64Mi' }, name: tmp }],
    container: {
      name: GATEWAY_CONTAINER,
      image: options.gatewayImage,
      imagePullPolicy: options.imagePullPolicy,
      args: argumentsOf(managementPort),
      env: [...environmentOf(object, size), ...egressVariables(options)],
      ports: portsOf(managementPort),
      ...PROBES,
      lifecycle: sleepBeforeStop(DRAIN_SLEEP_S),
      resources: { limits: { memory: size.limit }, requests: { cpu: size.cpu, memory: size.memory } },
      securityContext: { ...RESTRICTED_CONTAINER, readOnlyRootFilesystem: true, ...securityContext },
      volumeMounts: [
        ...readable.map(({ volume, mountPath }) => ({ mountPath, name: volume.name, readOnly: true })),
        { mountPath: '/tmp', name: tmp },
      ],
    },
  };
}

const environmentOf = ({ name, namespace }: Owned['object'], { heapMi }: Size): JsonObject[] => [
  { name: 'HOME', value: '/tmp' },
  { name: 'NODE_OPTIONS', value: `--max-old-space-size=${String(heapMi)}` },
  { name: 'POD_NAME', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } } },
  { name: 'VMCP_NAME', value: name },
  { name: 'VMCP_NAMESPACE', value: namespace },
];

/** Returns the variables by which the gateway finds a forward proxy and CAs. Those of a Secret are never in the Deployment. */
function egressVariables({ egress }: RenderOptions): JsonObject[] {
  if (!egress) return [];
  const { variables, secret, ca } = egress;
  const fixed: Readonly<Record<string, string | undefined>> = {
    ...(secret === undefined && { HTTPS_PROXY: variables.HTTPS_PROXY, HTTP_PROXY: variables.HTTP_PROXY }),
    NO_PROXY: variables.NO_PROXY,
    NODE_EXTRA_CA_CERTS: ca && `${CONFIG_FOLDER}/${CA_KEY}`,
  };
  return [
    ...(secret === undefined
      ? []
      : [secretVariable('HTTPS_PROXY', secret), secretVariable('HTTP_PROXY', secret, true)]),
    ...Object.entries(fixed).flatMap(([name, value]) => (value ? [{ name, value }] : [])),
  ];
}

const secretVariable = (key: string, name: string, optional?: boolean): JsonObject => ({
  name: key,
  valueFrom: { secretKeyRef: { key, name, ...(optional === true && { optional }) } },
});

/** Returns further data of the ConfigMap with the gateway's configuration. */
export const egressFiles = ({ egress }: RenderOptions): Readonly<Record<string, string>> =>
  egress?.ca === undefined ? {} : { [CA_KEY]: egress.ca };

const portsOf = (managementPort: number): readonly JsonObject[] => [
  { containerPort: PUBLIC_PORT, name: 'http', protocol: 'TCP' },
  { containerPort: managementPort, name: 'management', protocol: 'TCP' },
];

/** Returns the image's user; empty on OpenShift, which assigns one. */
export const gatewayUser = ({ openshift }: RenderOptions): JsonObject =>
  openshift ? {} : { runAsGroup: NONROOT, runAsUser: NONROOT };

/** Returns the image's user and the group of mounted files; empty on OpenShift. */
export const gatewayUserAndFiles = (options: RenderOptions): JsonObject =>
  options.openshift ? {} : { ...gatewayUser(options), fsGroup: NONROOT };

const argumentsOf = (managementPort: number): readonly string[] => [
  'gateway',
  '--config',
  `${CONFIG_FOLDER}/${CONFIG_FILE}`,
  '--host',
  '0.0.0.0',
  '--port',
  String(PUBLIC_PORT),
  '--management-host',
  '0.0.0.0',
  '--management-port',
  String(managementPort),
];

const get = (path: string): JsonObject => ({ httpGet: { path, port: 'http' } });

const PROBES: JsonObject = {
  startupProbe: { ...get('/health'), failureThreshold: 30, periodSeconds: 2, timeoutSeconds: 2 },
  livenessProbe: { ...get('/health'), failureThreshold: 3, periodSeconds: 10, timeoutSeconds: 5 },
  readinessProbe: { ...get('/readyz'), failureThreshold: 3, periodSeconds: 5, timeoutSeconds: 3 },
};

/** File mode: readable by the pod's group. */
const GROUP_READABLE = 0o440;
/** File mode in a volume of one container, whose user is not in a group of the pod. */
const READABLE = 0o444;

/** Place of the volumes: a pod of the gateway alone, or one container beside a server with volumes of its own. */
export interface Placing {
  readonly prefix: string;
  readonly mode: number;
}

const ALONE: Placing = { prefix: '', mode: GROUP_READABLE };
export const BESIDE_SERVER: Placing = { prefix: 'vmcp-', mode: READABLE };

/**
 * Renders one volume for all keys of Secrets and one for those of ConfigMaps, each key at `<object>/<key>`. They are
 * mounted as folders: Kubernetes does not update a file that is mounted by itself (`subPath`).
 */
export const mountedFiles = (mounts: readonly Mount[], placing = ALONE): readonly GatewayVolume[] => [
  ...volumeOf('Secret', mounts, { ...placing, name: 'secrets', mountPath: CLUSTER_PLATFORM.secretsDir }),
  ...volumeOf('ConfigMap', mounts, { ...placing, name: 'configmaps', mountPath: CLUSTER_PLATFORM.configMapsDir }),
];

function volumeOf(
  kind: Mount['kind'],
  mounts: readonly Mount[],
  { prefix, mode, name, mountPath }: Placing & { readonly name: string; readonly mountPath: string },
): GatewayVolume[] {
  const ofKind = mounts.filter((each) => each.kind === kind);
  if (ofKind.length === 0) return [];
  const objects = [...new Set(ofKind.map((each) => each.name))].toSorted(compareText);
  const sources = objects.flatMap((object) => sourcesOf(ofKind.filter((each) => each.name === object)));
  return [{ volume: { name: `${prefix}${name}`, projected: { defaultMode: mode, sources } }, mountPath }];
}

/** Lists the keys of one object: first required keys, without which a pod does not start, then optional keys. */
function sourcesOf(mounts: readonly Mount[]): JsonObject[] {
  const parts = [mounts.filter((each) => each.optional !== true), mounts.filter((each) => each.optional === true)];
  return parts.flatMap(([first, ...others]) => {
    if (!first) return [];
    const keys = [...new Set([first, ...others].map(({ key }) => key))].toSorted(compareText);
    const items = keys.map((key) => ({ key, path: `${first.name}/${key}` }));
    const source = { items, name: first.name, ...(first.optional && { optional: true }) };
    return [{ [first.kind === 'Secret' ? 'secret' : 'configMap']: source }];
  });
}

export const CONFIG_KEY = 'config.json';
const DEFAULT_REPORTING_INTERVAL = '30s';

/** Returns the configuration that pods start with. Backends are separate: they can change while pods run. */
export function startDocument(
  { metadata: { name }, spec }: VirtualMCPServer,
  config: GatewayConfig,
  backendsConfigMap: string,
): GatewayConfig {
  const { outgoing_auth: _credentials, ...vmcp } = config.vmcp;
  const { backend_tools: _rules, ...aggregation } = vmcp.aggregation;
  return {
    ...config,
    vmcp: {
      ...vmcp,
      aggregation,
      backends: [],
      cluster: {
        backends_config_map: backendsConfigMap,
        reporting_interval:
          spec.config?.operational?.failureHandling?.statusReportingInterval ?? DEFAULT_REPORTING_INTERVAL,
        virtual_mcp_server: name,
      },
    },
  };
}

/** Returns the backends document, which pods watch. */
export const backendsDocument = ({ schema_version, vmcp }: GatewayConfig): DiscoveredBackends => ({
  schema_version,
  backends: vmcp.backends,
  ...(vmcp.outgoing_auth && { outgoing_auth: vmcp.outgoing_auth }),
  ...(vmcp.aggregation.backend_tools && { backend_tools: vmcp.aggregation.backend_tools }),
});

/** Returns the configuration that exposes one stdio server over HTTP. The gateway in front of it authenticates clients. */
export function bridgeDocument(server: MCPServer, namespace: string): GatewayConfig {
  const { name } = server.metadata;
  const { endpointPrefix: prefix } = server.spec;
  return {
    schema_version: SCHEMA_VERSION,
    name,
    ...(prefix && { endpoint_prefix: prefix }),
    vmcp: {
      namespace,
      incoming: { type: 'anonymous' },
      backends: [podBackend(server)],
      aggregation: { conflict_resolution: 'none', default_tool_visibility: 'allow', prefix_format: '{workload}_' },
      operational: {
        failure_handling: {
          circuit_breaker: { enabled: false, failure_threshold: 5, timeout: '60s' },
          health_check_interval: '30s',
          health_check_timeout: '10s',
          unhealthy_threshold: 3,
        },
        timeouts: { default: BRIDGE_TIMEOUT },
      },
    },
  };
}

/** Longer than the timeout of the gateway in front, which times out first and reports it. */
const BRIDGE_TIMEOUT = '1h';
