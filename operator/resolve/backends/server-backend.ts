import type { Backend, BackendProcess } from '../../../gateway/contract/gateway-config.ts';
import { FROM_ENV_IN_CLUSTER, COMMAND_IN_CLUSTER } from '../../../crds/kinds/mcp-server-workload.ts';
import { hasOwnGateway } from '../fields/controls.ts';
import type { ObjectScope, Report, Platform } from '../scope.ts';
import type { MCPServer } from '../snapshot.ts';
import type { ContainerOptions } from '../../../gateway/contract/container.ts';
import { ClosedPermissionProfile } from '../../../gateway/contract/container.ts';
import { SCHEMA_VERSION, type RunConfig } from '../../../gateway/contract/run-config/run-config.ts';
import { containerOptionsOf } from '../../../gateway/workloads/container/options.ts';
import { documentName, parseConfigMapDocument } from '../config-maps.ts';

const DEFAULT_PORT = 8080;
const DEFAULT_PROXY_MODE = 'streamable-http';
/** Environment variable names that Kubernetes accepts. A Secret's key may also start with a digit. */
const ENV_NAME = /^[-._a-zA-Z][-._a-zA-Z0-9]*$/u;

/** Reason of a host variable without a value. */
export const HOST_VARIABLE_NOT_SET = 'HostVariableNotSet';

/** Resolves an MCPServer: in local mode a process that the gateway starts, in a cluster its Service. */
export function resolveServer(server: MCPServer, scope: ObjectScope): Backend {
  const report = scope.on(server);
  const { spec } = server;
  checkImage(spec.image, 'spec.image', scope.platform, report);
  checkTransportFields(spec, report);
  checkEnvironment(spec, report);
  checkHostVariables(server, scope, report);
  if (scope.platform.mode === 'local') return localBackend(server, scope);
  checkMountPaths(spec, report);
  checkSharing(spec, report);
  checkProfile(spec, report);
  checkProxyFields(spec, report);
  return clusterBackend(server, scope.snapshot.namespace);
}

/** Reports isolation settings that need several processes: in a cluster a stdio server is one process in one pod. */
function checkSharing({ isolation = 'shared', maxProcesses }: MCPServer['spec'], report: Report): void {
  if (isolation !== 'shared') {
    const message = `in a cluster one process serves every client, so isolation ${isolation} is not available: set isolation: shared if clients may share its state, or use a server that speaks streamable-http`;
    report.problem('IsolationNotAvailable', 'spec.isolation', message);
  }
  if (maxProcesses === undefined) return;
  report.warning('NoEffect', 'spec.maxProcesses', 'in a cluster one process serves every client: remove it');
}

/** Warns that no profile limits a pod. `network` is what a pod has anyway. */
function checkProfile({ permissionProfile: profile }: MCPServer['spec'], report: Report): void {
  if (profile === undefined || (profile.type !== 'configmap' && profile.name === 'network')) return;
  const message = 'in a cluster no profile limits a server: use a NetworkPolicy for its pods, and remove this field';
  report.warning('NoEffect', 'spec.permissionProfile', message);
}

/** Proxy fields that have no effect, with the fixed behaviour and the values that match it. */
const PROXY_FIELDS = [
  { field: 'maxRequestBodySize', does: 'a request has at most 8 MiB', inert: [0, 8 * 1024 * 1024] },
  { field: 'proxyReadTimeout', does: 'reading a request takes at most 30 s', inert: ['0', '0s', '30s'] },
  { field: 'trustProxyHeaders', does: 'X-Forwarded-* headers have no effect', inert: [false] },
] as const;

function checkProxyFields(spec: MCPServer['spec'], report: Report): void {
  const isStdio = (spec.transport ?? 'stdio') === 'stdio';
  if (spec.endpointPrefix && !isStdio && !hasOwnGateway({ spec })) {
    const message = `there is no gateway in front of a server that speaks ${spec.transport ?? ''}: remove it`;
    report.warning('NoEffect', 'spec.endpointPrefix', message);
  }
  for (const { field, does, inert } of PROXY_FIELDS) {
    const value = spec[field];
    if (value === undefined || inert.some((each) => each === value)) continue;
    const why = isStdio ? does : `there is no proxy in front of a server that speaks ${spec.transport ?? ''}`;
    report.warning('NoEffect', `spec.${field}`, `${why}: remove it`);
  }
}

function checkTransportFields({ transport, proxyMode, mcpPort }: MCPServer['spec'], report: Report): void {
  if (transport === 'stdio') {
    const message = 'a stdio server has no port: remove it or correct spec.transport';
    if (mcpPort !== undefined) report.warning('NoEffect', 'spec.mcpPort', message);
    return;
  }
  if (proxyMode !== undefined && proxyMode !== DEFAULT_PROXY_MODE && proxyMode !== transport) {
    const message = `proxyMode selects how a stdio server is exposed, and the transport of this server is ${transport ?? 'stdio'}: remove it`;
    report.problem('StdioOnly', 'spec.proxyMode', message);
  }
}

/** Checks that every variable has one source and a valid name. */
function checkEnvironment({ env = [], secrets = [] }: MCPServer['spec'], report: Report): void {
  const owners = new Map<string, string>();
  const take = (name: string, path: string): void => {
    const owner = owners.get(name);
    if (owner !== undefined) {
      report.problem('DuplicateEnv', path, `"${name}" is already set by ${owner}: remove one of them`);
    } else if (!ENV_NAME.test(name)) {
      report.problem('InvalidEnvName', path, `"${name}" cannot name an environment variable: set targetEnvName`);
    }
    owners.set(name, path);
  };
  env.forEach(({ name }, index) => {
    take(name, `spec.env[${String(index)}].name`);
  });
  secrets.forEach(({ key, targetEnvName }, index) => {
    take(
      targetEnvName ?? key,
      `spec.secrets[${String(index)}].${targetEnvName === undefined ? 'key' : 'targetEnvName'}`,
    );
  });
}

/** Reports host variables that are not set, and all of them in a cluster, where no host has them. */
function checkHostVariables({ metadata, spec }: MCPServer, { snapshot, platform }: ObjectScope, report: Report): void {
  const known = snapshot.hostVariables.get(metadata.name);
  spec.env?.forEach(({ fromEnv }, index) => {
    if (fromEnv === undefined) return;
    const path = `spec.env[${String(index)}].fromEnv`;
    if (platform.mode === 'cluster') {
      report.problem('HostVariableInCluster', path, FROM_ENV_IN_CLUSTER);
    } else if (known?.names.includes(fromEnv) !== true) {
      const file = known?.envFile ?? '.env';
      const message = `the variable ${fromEnv} is set neither in the environment of vmcp nor in ${file}: export it, or add the line ${fromEnv}=VALUE to ${file}`;
      report.problem(HOST_VARIABLE_NOT_SET, path, message);
    }
  });
}

/** Checks that mount paths are distinct, since the API server merges mounts by path. */
function checkMountPaths({ volumes = [] }: MCPServer['spec'], report: Report): void {
  const paths = volumes.map(({ mountPath }) => mountPath);
  paths.forEach((mountPath, index) => {
    const first = paths.indexOf(mountPath);
    if (first === index) return;
    const message = `spec.volumes[${String(first)}] is already mounted at "${mountPath}": use another path`;
    report.problem('DuplicateEntry', `spec.volumes[${String(index)}].mountPath`, message);
  });
}

/** Returns the variables whose value is in the resource. */
const plainVariables = (env: NonNullable<MCPServer['spec']['env']>): Record<string, string> =>
  Object.fromEntries(env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])));

/** Returns the environment of a process that the gateway starts. In a cluster only the server's own pod has it. */
function localEnvironment(
  { metadata, spec }: MCPServer,
  scope: ObjectScope,
): Pick<BackendProcess, 'env_vars' | 'env_var_files'> {
  const { env = [], secrets = [] } = spec;
  const values = plainVariables(env);
  const files = [
    ...env.flatMap(({ name, fromEnv }) =>
      fromEnv === undefined ? [] : [[name, scope.mount('HostVariable', metadata.name, fromEnv)] as const],
    ),
    ...secrets.map(({ name, key, targetEnvName }) => [targetEnvName ?? key, scope.mount('Secret', name, key)] as const),
  ];
  return {
    ...(Object.keys(values).length > 0 && { env_vars: values }),
    ...(files.length > 0 && { env_var_files: Object.fromEntries(files) }),
  };
}

/** Returns the choices about a package, without empty choices. */
function packageOf({ package: choices }: MCPServer['spec']): Pick<BackendProcess, 'package'> {
  if (choices === undefined) return {};
  const { installEnv = [], ...others } = choices;
  const install_env = Object.fromEntries(installEnv.map(({ name, value }) => [name, value]));
  const chosen = { ...others, ...(installEnv.length > 0 && { install_env }) };
  return Object.keys(chosen).length > 0 ? { package: chosen } : {};
}

function localBackend(server: MCPServer, scope: ObjectScope): Backend {
  const { metadata, spec } = server;
  const transport = spec.transport ?? 'stdio';
  const container = resolveContainer(server, scope);
  return {
    name: metadata.name,
    transport,
    process: {
      image: spec.image,
      ...(spec.args && { args: spec.args }),
      ...packageOf(spec),
      ...(spec.workingDir !== undefined && { working_dir: spec.workingDir }),
      ...(container && { container }),
      ...localEnvironment(server, scope),
      ...(transport !== 'stdio' && spec.mcpPort !== undefined && { target_port: spec.mcpPort }),
    },
    ...hostHeaderOf(spec),
    ...(transport === 'stdio' && spec.isolation && { isolation: spec.isolation }),
    ...(transport === 'stdio' && spec.maxProcesses !== undefined && { max_processes: spec.maxProcesses }),
  };
}

/** Returns the Service `mcp-<name>` that the operator creates. The rules for users' addresses do not apply to it. */
const clusterBackend = (server: MCPServer, namespace: string): Backend => ({
  name: server.metadata.name,
  transport: exposedTransport(server),
  url: serviceUrl(server, namespace),
  allow_private_ips: true,
  insecure_allow_http: true,
  ...hostHeaderOf(server.spec),
});

/** Returns the `Host` header for a server that speaks HTTP. */
export const hostHeaderOf = ({ hostHeader }: MCPServer['spec']): Pick<Backend, 'host_header'> =>
  hostHeader === undefined ? {} : { host_header: hostHeader };

/** Returns the transport of an MCPServer in a cluster. A stdio server is exposed as `proxyMode`. */
export function exposedTransport({ spec }: MCPServer): 'streamable-http' | 'sse' {
  if (spec.transport !== undefined && spec.transport !== 'stdio') return spec.transport;
  return spec.proxyMode ?? DEFAULT_PROXY_MODE;
}

/** Returns the MCP endpoint of an MCPServer in a cluster. */
export function serviceUrl(server: MCPServer, namespace: string): string {
  const port = String(server.spec.proxyPort ?? DEFAULT_PORT);
  const path = exposedTransport(server) === 'sse' ? '/sse' : '/mcp';
  return `http://mcp-${server.metadata.name}.${namespace}.svc.cluster.local:${port}${path}`;
}

/** Members of a run configuration that a profile sets, and what precedes messages about the profile. */
interface Access {
  readonly members: Pick<RunConfig, 'permission_profile' | 'permission_profile_name_or_path' | 'isolate_network'>;
  readonly document?: string;
}

const PROFILE = 'spec.permissionProfile';

/** Resolves `permissionProfile` and `volumes` in local mode; undefined without either, and with mistakes, which it reports. */
function resolveContainer(server: MCPServer, scope: ObjectScope): ContainerOptions | undefined {
  const { image, volumes = [], permissionProfile: profile } = server.spec;
  const access = profile === undefined ? OPEN : accessOf(server, profile, scope);
  if (access === undefined) return undefined;
  const isContainer = imageScheme(image) === 'oci';
  const { options, problems } = containerOptionsOf({
    schema_version: SCHEMA_VERSION,
    image,
    ...access.members,
    ...(!isContainer && { isolate_network: false }),
    ...(volumes.length > 0 && {
      volumes: volumes.map((each) => `${each.hostPath}:${each.mountPath}${each.readOnly === true ? ':ro' : ''}`),
    }),
  });
  const report = scope.on(server);
  for (const { reason, path, message } of problems) {
    const [field, text] = placeOf(path, message, access.document);
    report.problem(reason, field, text);
  }
  return options && Object.keys(options).length > 0 ? options : undefined;
}

/** Without a profile, and with the built-in `network`, a container has the default network of its engine. */
const OPEN: Access = { members: { isolate_network: false } };

function accessOf(
  server: MCPServer,
  { type = 'builtin', name, key = '' }: NonNullable<MCPServer['spec']['permissionProfile']>,
  scope: ObjectScope,
): Access | undefined {
  if (type === 'builtin') return name === 'network' ? OPEN : { members: { permission_profile_name_or_path: name } };
  const text = scope.snapshot.configMaps.get(name)?.data[key];
  if (text === undefined) return undefined; // its reference is reported
  const document = documentName(name, key);
  const read = parseConfigMapDocument(ClosedPermissionProfile, text);
  if ('problems' in read) {
    for (const message of read.problems) {
      scope.on(server).problem('InvalidPermissionProfile', PROFILE, `${document}: ${message}`);
    }
    return undefined;
  }
  const { config } = read;
  const mode = config.network?.mode ?? '';
  const isIsolated = config.privileged !== true && ['', 'bridge', 'default', 'none'].includes(mode);
  return { members: { permission_profile: config, isolate_network: isIsolated }, document };
}

/** Converts a path in the run configuration to the field of the MCPServer, and the message with it. */
function placeOf(path: string, message: string, document = ''): readonly [field: string, message: string] {
  const [, inProfile] = /^permission_profile\.(.*)$/u.exec(path) ?? [];
  if (inProfile !== undefined) return [PROFILE, `${document}: ${inProfile}: ${message}`];
  if (path === 'permission_profile') return [PROFILE, `${document}: ${message}`];
  return path === 'permission_profile_name_or_path' ? [`${PROFILE}.name`, message] : [`spec.${path}`, message];
}

export type ImageScheme = 'npx' | 'uvx' | 'command' | 'oci';

const NPM_NAME = String.raw`(@[a-z0-9~][a-z0-9._~-]*/)?[a-z0-9~][a-z0-9._~-]*`;
const NPX = new RegExp(`^npx://${NPM_NAME}(@[A-Za-z0-9^~*<>=][A-Za-z0-9^~*.<>=+_-]*)?$`, 'u');
const UVX =
  /^uvx:\/\/[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(\[[A-Za-z0-9,._-]+\])?(==[A-Za-z0-9][A-Za-z0-9.!+_-]*)?$/u;
/** Name of a program on PATH, or an absolute path of a file. */
const COMMAND = /^command:\/\/(?:[A-Za-z0-9_][A-Za-z0-9_.+-]*|\/[^\p{Cc}]*[^\p{Cc}/])$/u;
/** `[registry[:port]/]path[:tag][@digest]` as in the OCI distribution specification. */
const OCI =
  /^([A-Za-z0-9][A-Za-z0-9.-]*(:\d{1,5})?\/)?[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(\/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*(:\w[\w.-]{0,127})?(@[a-z0-9]+:[a-f0-9]{32,})?$/u;

/** Returns the scheme of an image reference; undefined when the reference is invalid. */
export function imageScheme(image: string): ImageScheme | undefined {
  if (NPX.test(image)) return 'npx';
  if (UVX.test(image)) return 'uvx';
  if (COMMAND.test(image)) return 'command';
  return OCI.test(image) ? 'oci' : undefined;
}

/** Reports an image that cannot run on this platform. */
export function checkImage(image: string, path: string, platform: Platform, report: Report): void {
  const scheme = imageScheme(image);
  if (scheme === undefined) {
    report.problem('InvalidImageReference', path, `"${image}" ${imageAdvice(image)}`);
  } else if (scheme === 'command' && platform.mode === 'cluster') {
    report.problem('LocalImageInCluster', path, COMMAND_IN_CLUSTER);
  } else if (scheme !== 'oci' && platform.mode === 'cluster') {
    report.problem('LocalImageInCluster', path, `${scheme}:// runs in local mode only: use a container image`);
  } else if (scheme === 'oci' && platform.mode === 'local' && platform.containerEngine === false) {
    report.problem(
      'NoContainerEngine',
      path,
      `"${image}" is a container image, and neither docker nor podman responds: start one of them, or use an npx:// or uvx:// package`,
    );
  }
}

function imageAdvice(image: string): string {
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):\/\//u.exec(image)?.[1];
  if (scheme === 'npx') return 'is not an npm package: write npx://PACKAGE or npx://PACKAGE@VERSION';
  if (scheme === 'uvx') return 'is not a PyPI package: write uvx://PACKAGE or uvx://PACKAGE==VERSION';
  if (scheme === 'command')
    return 'names no program: write command://NAME for a program on PATH, or command:// with an absolute path, and its arguments in spec.args';
  if (scheme === 'http' || scheme === 'https') return 'is a URL: use kind MCPServerEntry with spec.remoteUrl';
  if (scheme !== undefined)
    return `has the unknown scheme ${scheme}://: use npx://, uvx://, command:// or a container image`;
  return 'is not an image reference: write NAME:TAG, npx://PACKAGE or uvx://PACKAGE';
}
