import { RESTRICTED_CONTAINER, sleepBeforeStop } from '../pod.ts';
import type { NamedObject } from '../named-object.ts';
import type { RenderOptions } from '../options.ts';
import type { Owned } from '../owned.ts';
import type { JsonObject } from '../../../gateway/contract/json.ts';

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
