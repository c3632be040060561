import { isAbsolute } from 'node:path';
import type { ContainerIsolation, ContainerOptions, PermissionProfile } from '../../contract/container.ts';
import { asksForNothing } from '../../contract/json.ts';
import type { Problem } from '../../contract/problem.ts';
import type { RunConfig } from '../../contract/run-config/run-config.ts';
import { mountsOf } from './mounts.ts';

const ADVICE = 'use a container image, or remove it';

/** Members that only a container can have, with the reason why a process cannot. */
const CONTAINER_ONLY = [
  { path: 'volumes', why: 'a process sees all files of its user' },
  { path: 'publish', why: 'a process opens its ports itself' },
  { path: 'container_labels', why: 'a process has no labels' },
] as const;

/** Lists settings of an `npx://` or `uvx://` package that need a container. Pure. */
function processProblems(config: RunConfig, profile: PermissionProfile): Problem[] {
  const problems = CONTAINER_ONLY.filter(({ path }) => isFilled(config[path])).map(({ path, why }) =>
    invalid(path, `${why}: ${ADVICE}`),
  );
  if (config.isolate_network === true) {
    const why = 'a package runs as a process of your user, whose network access cannot be limited';
    problems.push(invalid('isolate_network', `${why}: use a container image, or isolate_network: false`));
  }
  if (config.allow_container_gateway === true) {
    problems.push(invalid('allow_container_gateway', `a process is not isolated from this machine: ${ADVICE}`));
  }
  const limits = limitsOf(config, profile).map((path) =>
    invalid(path, `a process runs with the rights of your user, which a profile cannot change: ${ADVICE}`),
  );
  return [...problems, ...limits];
}

/** Lists settings of a remote server that need a container. A remote server has no network access to isolate. Pure. */
const remoteProblems = (config: RunConfig): Problem[] =>
  CONTAINER_ONLY.filter(({ path }) => isFilled(config[path])).map(({ path }) =>
    invalid(path, 'a remote server has no container: remove it'),
  );

/** Lists the members of the profile that would change the rights of a process. */
function limitsOf(config: RunConfig, profile: PermissionProfile): string[] {
  const { network, privileged, read = [], write = [] } = profile;
  const { mode = '', inbound, outbound } = network ?? {};
  const base = 'permission_profile';
  return [
    ...(config.permission_profile === undefined && profile.name === 'none' ? [`${base}_name_or_path`] : []),
    ...(config.permission_profile !== undefined && network === undefined && profile.name === 'none' ? [base] : []),
    ...(['', 'bridge', 'default', 'host'].includes(mode) ? [] : [`${base}.network.mode`]),
    ...((inbound?.allow_host ?? []).length > 0 ? [`${base}.network.inbound`] : []),
    ...(outbound !== undefined && outbound.insecure_allow_all !== true ? [`${base}.network.outbound`] : []),
    ...(privileged === true ? [`${base}.privileged`] : []),
    ...(read.length > 0 ? [`${base}.read`] : []),
    ...(write.length > 0 ? [`${base}.write`] : []),
  ];
}

const isFilled = (value: readonly string[] | Readonly<Record<string, string>> | undefined): boolean =>
  value !== undefined && Object.keys(value).length > 0;

export interface ContainerOptionsResult {
  /** Absent for processes and remote servers. */
  readonly options?: ContainerOptions;
  readonly problems: readonly Problem[];
}

const PUBLISH = /^(\d{1,5}):(\d{1,5})$/u;
/** Name of a network. Excludes the other values of `--network`, such as `container:NAME` and `ns:PATH`. */
const NETWORK_NAME = /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/u;
const LABEL_KEY = /^[^\s=\p{Cc}]+$/u;
const OWN_LABELS = 'dev.vmcp.';

/** Returns the container options of a run configuration and all problems of the members that they come from. Pure. */
export function containerOptionsOf(config: RunConfig): ContainerOptionsResult {
  const { image = '' } = config;
  const { profile, problems: profileProblems } = profileOf(config);
  if (image === '') return { problems: [...profileProblems, ...remoteProblems(config)] };
  if (/^[a-z]+:\/\//u.test(image)) return { problems: [...profileProblems, ...processProblems(config, profile)] };
  const mounts = mountsOf(config, profile);
  const network = networkOf(profile);
  const problems = [
    ...profileProblems,
    ...mounts.problems,
    ...publishProblems(config, network),
    ...labelProblems(config),
    ...networkProblems(config, profile, network),
  ];
  if (problems.length > 0) return { problems };
  return {
    options: {
      ...(mounts.volumes.length > 0 && { volumes: mounts.volumes }),
      ...(mounts.engineVolumes.length > 0 && { engine_volumes: mounts.engineVolumes }),
      ...(config.publish && config.publish.length > 0 && { publish: config.publish }),
      ...(config.container_labels && { labels: config.container_labels }),
      ...(network !== undefined && { network }),
      ...(profile.privileged === true && { privileged: true }),
      ...(isIsolated(config) && { isolation: isolationOf(config, profile) }),
      ...ignoreOf(config, mounts.volumes),
    },
    problems,
  };
}

/** Returns the use of ignore files. Only files of mounts can be hidden. */
function ignoreOf(
  { ignore_config: config = {} }: RunConfig,
  volumes: readonly string[],
): Pick<ContainerOptions, 'ignore'> {
  if (volumes.length === 0 || asksForNothing(config)) return {};
  const { loadGlobal, printOverlays } = config;
  return { ignore: { ...(loadGlobal && { load_global: true }), ...(printOverlays && { print_overlays: true }) } };
}

/** Containers are isolated unless the configuration says otherwise. */
const isIsolated = (config: RunConfig): boolean => config.isolate_network !== false;

/**
 * Returns the inline profile, else the built-in one of that name. The default is `network`. `effectiveConfig` replaces the path of a
 * file by its profile; until then it is the strictest one.
 */
function profileOf(config: RunConfig): { profile: PermissionProfile; problems: Problem[] } {
  const { permission_profile: inline, permission_profile_name_or_path: name = '' } = config;
  if (inline !== undefined) return { profile: inline, problems: [] };
  if (name === 'none') return { profile: { name }, problems: [] };
  const profile = { name: 'network', network: { outbound: { insecure_allow_all: true } } };
  if (name === '' || name === 'network') return { profile, problems: [] };
  if (isAbsolute(name)) return { profile: { name: 'none' }, problems: [] };
  const message = 'must be none, network or the absolute path of a file: correct it, or use permission_profile';
  return { profile, problems: [{ reason: 'InvalidValue', path: 'permission_profile_name_or_path', message }] };
}

/** Returns the network mode; undefined for the default network. */
function networkOf({ network }: PermissionProfile): string | undefined {
  const mode = network?.mode ?? '';
  return mode === '' || mode === 'bridge' || mode === 'default' ? undefined : mode;
}

function isolationOf(config: RunConfig, { network }: PermissionProfile): ContainerIsolation {
  const { allow_host = [], allow_port = [], insecure_allow_all } = network?.outbound ?? {};
  const inbound = network?.inbound?.allow_host ?? [];
  return {
    ...(allow_host.length > 0 && { allow_hosts: allow_host }),
    ...(allow_port.length > 0 && { allow_ports: allow_port }),
    ...(insecure_allow_all === true && { allow_all: true }),
    ...(config.allow_container_gateway === true && { allow_container_gateway: true }),
    ...(inbound.length > 0 && { inbound_hosts: inbound }),
  };
}

function networkProblems(config: RunConfig, profile: PermissionProfile, network: string | undefined): Problem[] {
  const problems: Problem[] = [];
  const modePath = 'permission_profile.network.mode';
  if (network !== undefined && !NETWORK_NAME.test(network)) {
    problems.push(invalid(modePath, 'must be bridge, none, host or the name of a network'));
  }
  if (isIsolated(config)) {
    if (network !== undefined && network !== 'none') {
      const message = `a container in the network "${network}" cannot be isolated: use bridge, or isolate_network: false`;
      problems.push(invalid(modePath, message));
    }
    if (profile.privileged === true) {
      const message = 'a privileged container can leave its isolation: remove it, or use isolate_network: false';
      problems.push(invalid('permission_profile.privileged', message));
    }
  }
  return [...problems, ...outboundProblems(profile)];
}

function outboundProblems({ network }: PermissionProfile): Problem[] {
  const { allow_host = [], allow_port = [] } = network?.outbound ?? {};
  const hosts = (path: string, values: readonly string[]) =>
    values.flatMap((host, at) =>
      /^\.?[a-z0-9_[]([a-z0-9_.:\]-]*[a-z0-9_\]])?$/iu.test(host)
        ? []
        : [invalid(`permission_profile.network.${path}[${at}]`, 'must be a host name or an address, without port')],
    );
  return [
    ...hosts('outbound.allow_host', allow_host),
    ...hosts('inbound.allow_host', network?.inbound?.allow_host ?? []),
    ...allow_port.flatMap((port, at) =>
      isPort(port)
        ? []
        : [invalid(`permission_profile.network.outbound.allow_port[${at}]`, 'must be a port, 1 to 65535')],
    ),
  ];
}

function publishProblems({ publish = [] }: RunConfig, network: string | undefined): Problem[] {
  const used = new Set<number>();
  return publish.flatMap((text, at) => {
    const path = `publish[${at}]`;
    const [, host, container] = PUBLISH.exec(text) ?? [];
    if (!isPort(Number(host)) || !isPort(Number(container))) {
      return [invalid(path, 'must be hostPort:containerPort, each 1 to 65535')];
    }
    if (network === 'host') return [invalid(path, 'has no effect in the host network: remove it')];
    if (used.has(Number(host)))
      return [invalid(path, `publishes port ${host ?? ''} a second time: remove one of them`)];
    used.add(Number(host));
    return [];
  });
}

function labelProblems({ container_labels = {} }: RunConfig): Problem[] {
  return Object.entries(container_labels).flatMap(([key, value]) => {
    const path = `container_labels.${key}`;
    if (key.startsWith(OWN_LABELS)) return [invalid(path, `labels that start with "${OWN_LABELS}" are set by vmcp`)];
    if (!LABEL_KEY.test(key)) return [invalid(path, 'a label name must have neither blanks nor "="')];
    return /\p{Cc}/u.test(value) ? [invalid(path, 'must not contain control characters')] : [];
  });
}

const isPort = (port: number): boolean => Number.isInteger(port) && port >= 1 && port <= 65_535;

const invalid = (path: string, message: string): Problem => ({ reason: 'InvalidValue', path, message });
