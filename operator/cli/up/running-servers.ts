import type { Backend, GatewayConfig } from '../../../gateway/contract/gateway-config.ts';
import type { ResolvedServer } from '../../resolve/resolve-all.ts';
import { compareText } from '../../resolve/snapshot.ts';
import type { LocatedProblem } from '../../source/files/located.ts';
import type { Examination } from '../validate/examine.ts';

/** A server without problems, as its files say. */
export interface RunnableServer extends Pick<ResolvedServer, 'namespace' | 'name' | 'mounts'> {
  readonly config: GatewayConfig;
}

export interface Plan {
  /** By namespace, then name. */
  readonly servers: readonly RunnableServer[];
  /** Those of them that have a problem now and go on as they were: their files are not to be read again. */
  readonly kept: readonly RunnableServer[];
}

/** Names a server among all. */
export const serverKey = ({ namespace, name }: Pick<ResolvedServer, 'namespace' | 'name'>): string =>
  `${namespace}/${name}`;

/**
 * What is to run: servers without problems as they are now, servers with problems as they were in `before`. Servers that
 * the files name no more are left out.
 */
export function planServers(
  {
    servers,
    manifests,
  }: Pick<Examination, 'servers'> & { readonly manifests: Pick<Examination['manifests'], 'problems'> },
  before: readonly RunnableServer[],
): Plan {
  const good = servers.filter((server): server is ResolvedServer & RunnableServer => server.config !== undefined);
  const goodKeys = new Set(good.map(serverKey));
  const named = new Set([...servers, ...manifests.problems.filter(isOfServer)].map(serverKey));
  const processes = new Map(
    good.flatMap(({ namespace, config }) =>
      config.vmcp.backends.filter(isShared).map((backend) => [`${namespace}/${backend.name}`, backend] as const),
    ),
  );
  const kept = before
    .filter((server) => named.has(serverKey(server)) && !goodKeys.has(serverKey(server)))
    .map((server) => withProcesses(server, processes));
  const byName = (a: RunnableServer, b: RunnableServer): number =>
    compareText(a.namespace, b.namespace) || compareText(a.name, b.name);
  return { servers: [...good, ...kept].toSorted(byName), kept };
}

/** A refused object that is a VirtualMCPServer, or was meant to be one before its kind was misspelt. */
const isOfServer = ({ kind, path }: LocatedProblem): boolean => kind === 'VirtualMCPServer' || path === 'kind';

/** One process of the machine serves every server that uses this backend. */
const isShared = ({ process, transport }: Backend): boolean => process !== undefined && transport !== 'stdio';

/** There cannot be two versions of a shared process: the one of the servers without problems holds. */
function withProcesses(server: RunnableServer, current: ReadonlyMap<string, Backend>): RunnableServer {
  const { vmcp } = server.config;
  const backends = vmcp.backends.map((backend): Backend => {
    const shared = isShared(backend) ? current.get(`${server.namespace}/${backend.name}`) : undefined;
    return shared?.process ? { ...backend, process: shared.process, transport: shared.transport } : backend;
  });
  return { ...server, config: { ...server.config, vmcp: { ...vmcp, backends } } };
}
