import type { Backend, GatewayConfig } from '../../../gateway/contract/gateway-config.ts';
import type { ResolvedServer } from '../../resolve/resolve-all.ts';
import { compareText } from '../../resolve/snapshot.ts';
import type { LocatedProblem } from '../../source/files/located.ts';
import type { Examination } from '../validate/examine.ts';

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
