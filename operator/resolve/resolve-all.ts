import { resolveOwnGateway } from './own-gateway.ts';
import { checkReferences } from './references.ts';
import { distinct, type ObjectProblem, reportInto, type Platform } from './scope.ts';
import { compareText, objectsOf, type Snapshot } from './snapshot.ts';
import { resolve, type Resolution } from './vmcp.ts';

/** Resolution of one VirtualMCPServer. */
export interface ResolvedServer extends Resolution {
  readonly namespace: string;
  readonly name: string;
}

export interface ResolvedAll {
  /** Sorted by namespace, then name. */
  readonly servers: readonly ResolvedServer[];
  /** Own gateways of MCPServers. Local mode has none. */
  readonly ownGateways: readonly ResolvedServer[];
  /** Dangling references and, in local mode, wrong controls of objects that no server uses. They do not prevent a start. */
  readonly unused: readonly ObjectProblem[];
}

/** Resolves every VirtualMCPServer of every namespace. `platformOf` returns the platform of a namespace. */
export function resolveAll(
  { snapshots }: { readonly snapshots: ReadonlyMap<string, Snapshot> },
  platformOf: Platform | ((namespace: string) => Platform),
): ResolvedAll {
  const platformFor = (namespace: string): Platform =>
    typeof platformOf === 'function' ? platformOf(namespace) : platformOf;
  const ordered = [...snapshots.values()].toSorted((a, b) => compareText(a.namespace, b.namespace));
  const servers = ordered.flatMap((snapshot) => {
    const platform = platformFor(snapshot.namespace);
    const vmcps = [...snapshot.vmcps.values()].toSorted((a, b) => compareText(a.metadata.name, b.metadata.name));
    return vmcps.map((vmcp) => ({
      namespace: snapshot.namespace,
      name: vmcp.metadata.name,
      ...resolve(vmcp, snapshot, platform),
    }));
  });
  const reported = servers.flatMap(allProblems);
  const dangling = ordered.flatMap((snapshot) => {
    const platform = platformFor(snapshot.namespace);
    return [...danglingReferences(snapshot, platform), ...controlsForClusters(snapshot, platform)];
  });
  const ownGateways = ordered.flatMap((snapshot) => gatewaysOf(snapshot, platformFor(snapshot.namespace)));
  return { servers, ownGateways, unused: distinct([...reported, ...dangling]).slice(distinct(reported).length) };
}

function gatewaysOf(snapshot: Snapshot, platform: Platform): ResolvedServer[] {
  if (platform.mode === 'local') return [];
  const { namespace } = snapshot;
  return [...snapshot.servers.values()]
    .toSorted((a, b) => compareText(a.metadata.name, b.metadata.name))
    .flatMap((server) => {
      const resolution = resolveOwnGateway(server, snapshot, platform);
      return resolution ? [{ namespace, name: server.metadata.name, ...resolution }] : [];
    });
}

/** Lists the problems that servers in no group would have in a cluster, which alone serves them. */
function controlsForClusters(snapshot: Snapshot, platform: Platform): ObjectProblem[] {
  if (platform.mode === 'cluster') return [];
  return [...snapshot.servers.values()]
    .filter(({ spec }) => !spec.groupRef)
    .flatMap((server) => resolveOwnGateway(server, snapshot, { ...platform, mode: 'cluster' })?.problems ?? []);
}

/** Lists the problems of a server and of the members that it leaves out. */
export const allProblems = ({ problems, excluded }: ResolvedServer): ObjectProblem[] => [
  ...problems,
  ...excluded.flatMap((member) => member.problems),
];

function danglingReferences(snapshot: Snapshot, platform: Platform): ObjectProblem[] {
  const problems: ObjectProblem[] = [];
  for (const object of objectsOf(snapshot)) {
    const { kind, metadata } = object;
    checkReferences(
      object,
      { snapshot, platform },
      reportInto({ kind, namespace: snapshot.namespace, name: metadata.name }, problems, []),
    );
  }
  return problems;
}
