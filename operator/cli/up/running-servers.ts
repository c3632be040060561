import type { Backend, GatewayConfig } from '../../../gateway/contract/gateway-config.ts';
import type { ResolvedServer } from '../../resolve/resolve-all.ts';
import { compareText } from '../../resolve/snapshot.ts';
import type { LocatedProblem } from '../../source/files/located.ts';
import type { Examination } from '../validate/examine.ts';
import { SCHEMA_VERSION, type RunConfig } from '../../../gateway/contract/run-config/run-config.ts';
import type { BackendStatus } from '../../../gateway/process/gateway.ts';
import type { FileWorkload } from '../../../gateway/workloads/workloads.ts';
import type { Manifests } from '../../source/files/load.ts';
import type { Problem } from '../../../gateway/contract/problem.ts';

/** Server without problems of its own. */
export interface RunnableServer extends Pick<ResolvedServer, 'namespace' | 'name' | 'mounts' | 'excluded'> {
  readonly config: GatewayConfig;
}

export interface Plan {
  /** Sorted by namespace, then name. */
  readonly servers: readonly RunnableServer[];
  /** Servers that have a problem now and keep their previous configuration and files. */
  readonly kept: readonly RunnableServer[];
}

/** Returns the key of a server. */
export const serverKey = ({ namespace, name }: Pick<ResolvedServer, 'namespace' | 'name'>): string =>
  `${namespace}/${name}`;

/**
 * Plans the servers to run: valid servers with their new configuration, invalid ones as in `before`. Servers that are no
 * longer in the files are removed.
 */
export function planServers(
  {
    servers,
    manifests,
  }: Pick<Examination, 'servers'> & { readonly manifests: Pick<Examination['manifests'], 'problems'> },
  before: readonly RunnableServer[],
): Plan {
  const valid = servers.filter((server): server is ResolvedServer & RunnableServer => server.config !== undefined);
  const validKeys = new Set(valid.map(serverKey));
  const named = new Set([...servers, ...manifests.problems.filter(isOfServer)].map(serverKey));
  const processes = new Map(
    valid.flatMap(({ namespace, config }) =>
      config.vmcp.backends.filter(isShared).map((backend) => [`${namespace}/${backend.name}`, backend] as const),
    ),
  );
  const kept = before
    .filter((server) => named.has(serverKey(server)) && !validKeys.has(serverKey(server)))
    .map((server) => withProcesses(server, processes));
  const byName = (a: RunnableServer, b: RunnableServer): number =>
    compareText(a.namespace, b.namespace) || compareText(a.name, b.name);
  return { servers: [...valid, ...kept].toSorted(byName), kept };
}

/** Returns true for a rejected VirtualMCPServer, or an object with an unknown kind, which may be a misspelt one. */
const isOfServer = ({ kind, path }: LocatedProblem): boolean => kind === 'VirtualMCPServer' || path === 'kind';

/** Returns true for a backend whose process all servers share. */
const isShared = ({ process, transport }: Backend): boolean => process !== undefined && transport !== 'stdio';

/** Replaces shared processes by those of the valid servers: a shared process has one version only. */
function withProcesses(server: RunnableServer, current: ReadonlyMap<string, Backend>): RunnableServer {
  const { vmcp } = server.config;
  const backends = vmcp.backends.map((backend): Backend => {
    const shared = isShared(backend) ? current.get(`${server.namespace}/${backend.name}`) : undefined;
    return shared?.process ? { ...backend, process: shared.process, transport: shared.transport } : backend;
  });
  return { ...server, config: { ...server.config, vmcp: { ...vmcp, backends } } };
}

type Members = Readonly<Record<string, unknown>>;

/** Lists the members that differ, sorted. */
function changedMembers(before: Members, after: Members): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name])).sort();
}

/** Returns the settings of a backend and of its process, by name as in the run configuration. */
const settingsOf = ({ process, ...backend }: Backend): Members => ({ ...backend, ...process });

/** Returns the settings of a server except its backends; vMCP settings stand beside the others. */
const otherSettings = ({ vmcp: { backends: _, ...vmcp }, ...config }: GatewayConfig): Members => ({
  ...config,
  ...vmcp,
});

const change = (name: string, members: readonly string[]): string[] =>
  members.length === 0 ? [] : [`~${name}: ${members.join(', ')}`];

function changesOf(before: GatewayConfig, after: GatewayConfig): string[] {
  const previous = new Map(before.vmcp.backends.map((backend) => [backend.name, backend]));
  const current = new Map(after.vmcp.backends.map((backend) => [backend.name, backend]));
  return [
    ...[...current.keys()].filter((name) => !previous.has(name)).map((name) => `+${name}`),
    ...[...previous.keys()].filter((name) => !current.has(name)).map((name) => `-${name}`),
    ...[...current.values()].flatMap((backend) => {
      const old = previous.get(backend.name);
      return old ? change(backend.name, changedMembers(settingsOf(old), settingsOf(backend))) : [];
    }),
    ...change('settings', changedMembers(otherSettings(before), otherSettings(after))),
  ];
}

/**
 * Renders what changed files mean for the servers that run before and after, a line each: `+` added, `-` removed,
 * `~name: settings` changed. Empty when nothing changed.
 */
export function describeChanges(before: readonly RunnableServer[], after: readonly RunnableServer[]): string[] {
  const previous = new Map(before.map((server) => [serverKey(server), server]));
  return after.flatMap((server) => {
    const old = previous.get(serverKey(server));
    const changes = old ? changesOf(old.config, server.config) : [];
    return changes.length === 0 ? [] : [`${serverKey(server)}  ${changes.join('  ')}`];
  });
}

/** Returns true when both have the same servers, so that names and URLs are those of the table. */
export function hasSameServers(before: readonly RunnableServer[], after: readonly RunnableServer[]): boolean {
  const keys = (servers: readonly RunnableServer[]): string => JSON.stringify(servers.map(serverKey));
  return keys(before) === keys(after);
}

const DEFAULT_NAMESPACE = 'default';
const KINDS = ['MCPServer', 'MCPServerEntry'];

/**
 * Lists the servers of the files as workloads of the management API. A server of several groups is listed once. `since` is the start of
 * `vmcp up`, in RFC 3339.
 */
export function fileWorkloads(
  servers: readonly RunnableServer[],
  { locate }: Pick<Manifests, 'locate'>,
  { statusOf, since }: { readonly statusOf: BackendStatus; readonly since: string },
): FileWorkload[] {
  const listed = new Map<string, FileWorkload>();
  for (const { namespace, config } of servers) {
    for (const backend of config.vmcp.backends) {
      const name = namespace === DEFAULT_NAMESPACE ? backend.name : `${namespace}.${backend.name}`;
      if (listed.has(name)) continue;
      const place = KINDS.map((kind) => locate({ kind, namespace, name: backend.name }, '')).find(Boolean);
      const workload = {
        config: runConfigOf(name, backend, config.group),
        ...statusOf(namespace, backend.name),
        ...{ created_at: since, started_at: since, isFromFile: true },
      };
      listed.set(name, { workload, place: place ? `${place.file}:${String(place.line)}` : 'a file' });
    }
  }
  return [...listed.values()];
}

/** Lists the groups of the files, as servers and resources name them. */
export const fileGroups = (servers: readonly RunnableServer[], { objects }: Pick<Manifests, 'objects'>): string[] => [
  ...new Set([
    ...servers.flatMap(({ config }) => config.group ?? []),
    ...objects.flatMap(({ kind, name }) => (kind === 'MCPGroup' ? [name] : [])),
  ]),
];

/** Returns the run configuration of a backend. Variables that come from Secrets are left out. */
function runConfigOf(name: string, { process, url, transport }: Backend, group: string | undefined): RunConfig {
  return {
    ...{ schema_version: SCHEMA_VERSION, name, base_name: name, transport },
    ...(group !== undefined && { group }),
    ...(process ? { image: process.image } : { remote_url: url ?? '' }),
    ...(process?.package && { package: process.package }),
    ...(process?.working_dir !== undefined && { working_dir: process.working_dir }),
    ...(process?.args && { cmd_args: [...process.args] }),
    ...(process?.env_vars && { env_vars: process.env_vars }),
    ...(process?.target_port !== undefined && { target_port: process.target_port }),
  };
}

type Server = Pick<RunnableServer, 'namespace' | 'name' | 'excluded'>;

/** Renders one line for each member that a virtual server leaves out. Its problems are printed before. */
export const leftOutLines = (servers: readonly Server[]): string =>
  servers
    .flatMap((server) =>
      server.excluded.map(({ name, problems }) => {
        const reasons = [...new Set(problems.map(({ reason }) => reason))].join(', ');
        return `${serverKey(server)} runs without ${name}: see its problem above [${reasons}]\n`;
      }),
    )
    .join('');

/** Lists the problems of the members that a virtual server leaves out, as `/status` shows them. */
export const leftOutProblems = (servers: readonly Server[], namespace: string, name: string): Problem[] =>
  servers
    .filter((server) => server.namespace === namespace && server.name === name)
    .flatMap(({ excluded }) => excluded)
    .flatMap((member) =>
      member.problems.map(({ reason, message }) => ({
        reason,
        path: `vmcp.backends.${member.name}`,
        message: `backend "${member.name}" is left out: ${message}`,
      })),
    );
