import { readManagement, type BackendStatus } from '../status/gateway-status.ts';

/** Reads the backends of all virtual servers; none when only the MCP URL is known. */
export async function readBackends(managementUrl: string | undefined): Promise<BackendStatus[]> {
  if (managementUrl === undefined) return [];
  const servers = await readManagement(managementUrl).catch(() => []);
  return servers.flatMap(({ backends }) => backends);
}

/** Advice for a backend whose tools are missing, by its state. */
const ADVICE: Readonly<Record<string, string>> = {
  installing: 'is being installed: try again soon',
  starting: 'is starting: try again soon',
  unknown: 'has not answered yet: try again soon',
  unhealthy: 'is unhealthy: vmcp status shows why',
  unauthenticated: 'rejects the credential of the gateway: vmcp status shows more',
};

/** States before the first answer of a backend. */
const PENDING = new Set(['installing', 'starting', 'unknown']);

/** Returns true while tools of the backend are to be expected. */
export const isPending = ({ state }: BackendStatus): boolean => PENDING.has(state);

/** Returns a line for each backend whose tools are missing. */
export function missingTools(backends: readonly BackendStatus[]): string {
  const lines = backends.flatMap(({ name, state }) => {
    const advice = ADVICE[state];
    return advice === undefined ? [] : [`${name} ${advice}\n`];
  });
  return [...new Set(lines)].toSorted().join('');
}
