import type { Entries } from '../document/server-entries.ts';
import type { ServerLists, ServerLookup } from '../schema/entries.ts';

/**
 * Finds a server by its name. A name without a slash also matches `NAMESPACE/name` if only one server has that ending.
 */
export function findServer({ servers, remoteServers }: Entries, name: string): ServerLookup | undefined {
  const key = keyOf(new Set([...servers.keys(), ...remoteServers.keys()]), name);
  if (key === undefined) return undefined;
  const server = servers.get(key);
  if (server) return { server, is_remote: false };
  const remote = remoteServers.get(key);
  return remote && { remote_server: remote, is_remote: true };
}

function keyOf(names: ReadonlySet<string>, name: string): string | undefined {
  if (names.has(name) || name.includes('/')) return name;
  const matches = [...names].filter((candidate) => candidate.endsWith(`/${name}`));
  return matches.length === 1 ? matches[0] : undefined;
}

/** Returns the reason why a server of the registry has no entry, with advice for the user. Matches names as `findServer` does. */
export function findProblem({ problems }: Entries, name: string): string | undefined {
  const key = keyOf(new Set(problems.map(({ server }) => server)), name);
  const problem = problems.find(({ server }) => server === key);
  return (
    problem &&
    `registry entry ${problem.server} cannot be used: ${problem.reason}. Set the image and its settings yourself, or ask its publisher to correct it`
  );
}

/** Lists all servers, sorted by name. */
export const serverLists = ({ servers, remoteServers }: Entries): ServerLists => ({
  servers: [...servers.values()],
  ...(remoteServers.size > 0 && { remote_servers: [...remoteServers.values()] }),
});
