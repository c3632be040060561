import { asksForNothing, isObject } from '../../../contract/json.ts';
import type { Problem } from '../../../contract/problem.ts';
import type { RunConfig } from '../../../contract/run-config/run-config.ts';
import { TRANSPORTS } from '../../definition/settings.ts';
import {
  ownHostHeader,
  type HostVolume,
  type SecretVariable,
  type ServerSpec,
  MANAGED_SECRET,
} from '../../server-run-config.ts';
import { commonProblems, invalid, unsupportedMembers, type Member } from './member-problems.ts';

/** Key of a Secret in the namespace of the workload. */
interface SecretKey {
  readonly name: string;
  readonly key: string;
}

/** Names of internal secrets of the management API. */
const INTERNAL = /^__sys_/u;
const KEY = /^[-._A-Za-z0-9]{1,253}$/u;
const SECRET = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/u;

/** Reads `KEY` of the provider's Secret, or `SECRET/KEY`. */
export function readSecretName(text: string, path: string): SecretKey | Problem {
  const slash = text.indexOf('/');
  const [name, key] = slash < 0 ? [MANAGED_SECRET, text] : [text.slice(0, slash), text.slice(slash + 1)];
  if (name === MANAGED_SECRET && INTERNAL.test(key))
    return invalid(path, 'the secret belongs to vmcp: name another one');
  if (SECRET.test(name) && KEY.test(key)) return { name, key };
  return invalid(path, 'must be the name of a secret, or SECRET/KEY of a Secret in the namespace of the workload');
}

export const isProblem = (value: object): value is Problem => 'reason' in value;

type Transport = NonNullable<ServerSpec['transport']>;

/** Members that an MCPServer has. */
const MEMBERS: readonly Member[] = [
  'image',
  'cmd_args',
  'env_vars',
  'secrets',
  'volumes',
  'container_labels',
  'permission_profile',
  'permission_profile_name_or_path',
  'port',
  'target_port',
  'endpoint_prefix',
  'trust_proxy_headers',
  'scaling_config',
  'cluster_pod_template_patch',
];

/**
 * Converts a run configuration to the fields of an MCPServer. Volumes keep their names in `current`, by which the API
 * server merges them.
 */
export function desiredServer(
  config: RunConfig,
  current?: ServerSpec,
): { readonly spec: ServerSpec } | { readonly problems: Problem[] } {
  const hasOwnHost = ownHostHeader(config.target_host) !== undefined;
  const members = hasOwnHost && config.transport !== 'stdio' ? [...MEMBERS, 'target_host' as const] : MEMBERS;
  const problems = [
    ...unsupportedMembers(config, members, 'a server of a cluster'),
    ...commonProblems(config),
    ...sourceProblems(config),
    ...permissionProblems(config),
    ...scalingProblems(config),
  ];
  const spec = {
    image: config.image ?? '',
    ...addressOf(config),
    ...(config.group && { groupRef: { name: config.group } }),
    ...(config.cmd_args?.length && { args: config.cmd_args }),
    ...environmentOf(config),
    ...secretsOf(config, problems),
    ...volumesOf(config, current?.volumes ?? [], problems),
    ...labelsOf(config),
    ...permissionsOf(config),
    ...patchOf(config, problems),
    ...(config.scaling_config?.backend_replicas !== undefined && {
      backendReplicas: config.scaling_config.backend_replicas,
    }),
  };
  return problems.length > 0 ? { problems } : { spec };
}

function sourceProblems({ image = '', transport = '', target_port: port }: RunConfig): Problem[] {
  const problems: Problem[] = [];
  if (/^[a-z]+:\/\//u.test(image)) {
    const message = 'a cluster runs container images only: name an image that contains the package';
    problems.push({ reason: 'NotSupportedYet', path: 'image', message });
  }
  if (!(TRANSPORTS as readonly string[]).includes(transport))
    problems.push(invalid('transport', `must be ${TRANSPORTS.join(', ')}`));
  if (transport === 'stdio' && port) problems.push(invalid('target_port', 'a stdio server has no port: remove it'));
  return problems;
}

function addressOf(config: RunConfig): Partial<ServerSpec> {
  const { transport, proxy_mode: mode, port, target_port: target, endpoint_prefix: prefix } = config;
  const hostHeader = transport === 'stdio' ? undefined : ownHostHeader(config.target_host, target);
  return {
    transport: transport as Transport,
    ...(transport === 'stdio' && mode && { proxyMode: mode as 'sse' }),
    ...(port && { proxyPort: port }),
    ...(target && { mcpPort: target }),
    ...(hostHeader !== undefined && { hostHeader }),
    ...(prefix && { endpointPrefix: prefix }),
    ...(config.trust_proxy_headers !== undefined && { trustProxyHeaders: config.trust_proxy_headers }),
  };
}

function environmentOf({ env_vars: variables = {} }: RunConfig): Partial<ServerSpec> {
  const env = Object.entries(variables).map(([name, value]) => ({ name, value }));
  return env.length > 0 ? { env } : {};
}

function secretsOf({ secrets = [] }: RunConfig, problems: Problem[]): Partial<ServerSpec> {
  const variables = secrets.flatMap((text, index): SecretVariable[] => {
    const path = `secrets[${String(index)}]`;
    const [, name, target] = /^([^,\s]+),target=([^,\s]+)$/u.exec(text) ?? [];
    if (name === undefined || target === undefined) {
      problems.push(invalid(path, 'must be NAME,target=VARIABLE'));
      return [];
    }
    const key = readSecretName(name, `${path}.name`);
    if (!isProblem(key)) return [{ ...key, targetEnvName: target }];
    problems.push(key);
    return [];
  });
  const keys = variables.map(({ name, key }) => `${name}/${key}`);
  for (const [index, key] of keys.entries()) {
    if (keys.indexOf(key) < index)
      problems.push(invalid(`secrets[${String(index)}].name`, 'a secret can have one target: remove the other one'));
  }
  return variables.length > 0 ? { secrets: variables } : {};
}

function volumesOf({ volumes = [] }: RunConfig, current: readonly HostVolume[], problems: Problem[]) {
  const taken = new Set(current.map(({ name }) => name));
  const mounts = volumes.flatMap((text, index): HostVolume[] => {
    const [, hostPath, mountPath, mode] = /^(\/[^:]*):(\/[^:]*)(:r[ow])?$/u.exec(text) ?? [];
    if (hostPath === undefined || mountPath === undefined) {
      const message = 'must be HOST:CONTAINER or HOST:CONTAINER:ro, both absolute paths';
      problems.push(invalid(`volumes[${String(index)}]`, message));
      return [];
    }
    const same = current.find((volume) => volume.mountPath === mountPath);
    const name = same?.name ?? freeName(taken, index);
    taken.add(name);
    return [{ name, hostPath, mountPath, readOnly: mode === ':ro' }];
  });
  return mounts.length > 0 ? { volumes: mounts } : {};
}

function freeName(taken: ReadonlySet<string>, from: number): string {
  for (let number = from + 1; ; number += 1) {
    const name = `volume-${String(number)}`;
    if (!taken.has(name)) return name;
  }
}

const labelsOf = ({ container_labels: labels = {} }: RunConfig): Partial<ServerSpec> =>
  Object.keys(labels).length > 0
    ? { resourceOverrides: { proxyDeployment: { podTemplateMetadataOverrides: { labels } } } }
    : {};

const NETWORK = 'network';
const PROFILE = 'permission_profile';

/** Accepts the profile `network` alone: pods are not sandboxed. */
function permissionProblems(config: RunConfig): Problem[] {
  const { permission_profile: profile, permission_profile_name_or_path: name = '' } = config;
  const message = 'pods of a cluster have the profile "network": remove it, and restrict them with a NetworkPolicy';
  const problem = (path: string): Problem => ({ reason: 'NotSupportedYet', path, message });
  return [
    ...(['', NETWORK].includes(name) ? [] : [problem('permission_profile_name_or_path')]),
    ...(profile === undefined || isNetwork(profile) ? [] : [problem(PROFILE)]),
  ];
}

/** Returns true for a profile that allows all connections and nothing else. */
function isNetwork({ name = '', network = {}, ...others }: NonNullable<RunConfig['permission_profile']>): boolean {
  const { outbound: { insecure_allow_all: all, ...limits } = {}, mode = '', ...rest } = network;
  const isNamed = name === NETWORK || (name === '' && all === true);
  const hasNoLimits = [limits, rest, others].every(asksForNothing) && ['', 'bridge', 'default'].includes(mode);
  const isEmpty = asksForNothing({ name, network, ...others });
  return isEmpty || (isNamed && hasNoLimits);
}

const permissionsOf = (config: RunConfig): Partial<ServerSpec> =>
  config.permission_profile_name_or_path || !asksForNothing(config.permission_profile)
    ? { permissionProfile: { type: 'builtin', name: NETWORK } }
    : {};

const scalingProblems = ({ scaling_config: scaling }: RunConfig): Problem[] =>
  asksForNothing(scaling?.session_kvstore)
    ? []
    : [
        {
          reason: 'NotSupportedYet',
          path: 'scaling_config.session_kvstore',
          message: 'sessions of a server are in its pods: remove it',
        },
      ];

function patchOf({ cluster_pod_template_patch: text }: RunConfig, problems: Problem[]): Partial<ServerSpec> {
  if (!text) return {};
  try {
    const patch: unknown = JSON.parse(text);
    if (isObject(patch)) return { podTemplateSpec: patch };
  } catch {
    // Reported below.
  }
  problems.push(invalid('cluster_pod_template_patch', 'must be a JSON object: correct it'));
  return {};
}
