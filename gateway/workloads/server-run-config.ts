import { SCHEMA_VERSION, type RunConfig } from '../contract/run-config/run-config.ts';

/** Secret of the secrets provider `cluster`. Run configurations name its keys without it. */
export const MANAGED_SECRET = 'vmcp-management-secrets';

interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly fromEnv?: string;
}

export interface SecretVariable {
  readonly name: string;
  readonly key: string;
  readonly targetEnvName?: string;
}

export interface HostVolume {
  readonly name: string;
  readonly hostPath: string;
  readonly mountPath: string;
  readonly readOnly?: boolean;
}

interface PodMetadata {
  readonly labels?: Readonly<Record<string, string>>;
}

/** Fields of the spec of an MCPServer that a run configuration has too. */
export interface ServerSpec {
  readonly image: string;
  readonly transport?: 'stdio' | 'sse' | 'streamable-http';
  readonly proxyMode?: 'sse' | 'streamable-http';
  readonly groupRef?: { readonly name: string };
  readonly args?: readonly string[];
  readonly env?: readonly Variable[];
  readonly secrets?: readonly SecretVariable[];
  readonly volumes?: readonly HostVolume[];
  readonly mcpPort?: number;
  readonly hostHeader?: string;
  readonly proxyPort?: number;
  readonly endpointPrefix?: string;
  readonly trustProxyHeaders?: boolean;
  readonly backendReplicas?: number;
  readonly permissionProfile?: { readonly type?: 'builtin' | 'configmap'; readonly name: string };
  readonly podTemplateSpec?: object;
  readonly resourceOverrides?: { readonly proxyDeployment?: { readonly podTemplateMetadataOverrides?: PodMetadata } };
}

export interface Server {
  readonly metadata: { readonly name: string };
  readonly spec: ServerSpec;
}

const DEFAULT_PORT = 8080;
/** Address on which every pod listens. */
export const POD_HOST = '0.0.0.0';

/** Returns the run configuration of an MCPServer, for users and for export. It has the names of Secrets, no values. */
export function serverRunConfig({ metadata: { name }, spec }: Server): RunConfig {
  const { permissionProfile: profile } = spec;
  const labels = spec.resourceOverrides?.proxyDeployment?.podTemplateMetadataOverrides?.labels ?? {};
  return {
    schema_version: SCHEMA_VERSION,
    name,
    image: spec.image,
    ...addressOf(spec),
    ...processOf(spec),
    ...(spec.groupRef && { group: spec.groupRef.name }),
    ...(Object.keys(labels).length > 0 && { container_labels: { ...labels } }),
    ...(profile?.type === 'builtin' && { permission_profile_name_or_path: profile.name }),
    ...(spec.trustProxyHeaders !== undefined && { trust_proxy_headers: spec.trustProxyHeaders }),
    ...(spec.backendReplicas !== undefined && { scaling_config: { backend_replicas: spec.backendReplicas } }),
    ...(spec.podTemplateSpec && { cluster_pod_template_patch: JSON.stringify(sorted(spec.podTemplateSpec)) }),
  };
}

/** Names of the machine itself, by which a server may want to be called. */
const OWN_NAMES = ['localhost', '127.0.0.1', '::1'];

const hostHeaderFor = (name: string, port: number): string =>
  `${name.includes(':') ? `[${name}]` : name}:${String(port)}`;

/** Returns the `Host` for a server that listens on `port` under one of its own names; undefined for another name. */
export const ownHostHeader = (name: string | undefined, port = DEFAULT_PORT): string | undefined =>
  name !== undefined && OWN_NAMES.includes(name) ? hostHeaderFor(name, port) : undefined;

/** Returns the name in a `Host` header that `ownHostHeader` has made. */
function targetHostOf(header: string | undefined, port: number): Partial<RunConfig> {
  const name = OWN_NAMES.find((each) => hostHeaderFor(each, port) === header);
  return name === undefined ? {} : { target_host: name };
}

function addressOf(spec: ServerSpec): Partial<RunConfig> {
  const { transport = 'stdio', proxyMode = 'streamable-http', mcpPort = DEFAULT_PORT } = spec;
  return {
    transport,
    proxy_mode: transport === 'stdio' ? proxyMode : transport,
    ...(transport !== 'stdio' && { target_port: mcpPort, ...targetHostOf(spec.hostHeader, mcpPort) }),
    host: POD_HOST,
    port: spec.proxyPort ?? DEFAULT_PORT,
    ...(spec.endpointPrefix !== undefined && { endpoint_prefix: spec.endpointPrefix }),
  };
}

function processOf({ args = [], env = [], secrets = [], volumes = [] }: ServerSpec): Partial<RunConfig> {
  const variables = env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value] as const]));
  return {
    ...(args.length > 0 && { cmd_args: [...args] }),
    ...(variables.length > 0 && { env_vars: Object.fromEntries(variables) }),
    ...(secrets.length > 0 && { secrets: secrets.map(reference) }),
    ...(volumes.length > 0 && {
      volumes: volumes.map(
        ({ hostPath, mountPath, readOnly }) => `${hostPath}:${mountPath}${readOnly === true ? ':ro' : ''}`,
      ),
    }),
  };
}

const reference = ({ name, key, targetEnvName = key }: SecretVariable): string =>
  `${secretName({ name, key })},target=${targetEnvName}`;

/** Returns the name of a key in run configurations: the key alone in the Secret of the provider, else `SECRET/KEY`. */
export const secretName = ({ name, key }: { readonly name: string; readonly key: string }): string =>
  name === MANAGED_SECRET ? key : `${name}/${key}`;

/** Sorts the members of objects by name, so that equal objects have equal texts. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, member]) => [name, sorted(member)]));
}
