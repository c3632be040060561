import { checkReferences } from './references.ts';
import { distinct, type ObjectProblem } from './problems.ts';
import { reportInto, type Platform } from './scope.ts';
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
  /** Dangling references of objects that no server uses. They do not prevent a start. */
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
  const dangling = ordered.flatMap((snapshot) => danglingReferences(snapshot, platformFor(snapshot.namespace)));
  return { servers, unused: distinct([...reported, ...dangling]).slice(distinct(reported).length) };
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
