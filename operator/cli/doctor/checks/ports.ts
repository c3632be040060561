import type { Running } from '../../../local/running.ts';
import { ok, warn, type Check } from '../check.ts';

/** Returns the ports on which the `vmcp up` of the state folder listens. */
const portsOf = (running: Running | undefined): number[] =>
  running
    ? [running.managementUrl, ...running.servers.map(({ mcpUrl }) => mcpUrl)].map((url) => Number(new URL(url).port))
    : [];

const portCheck = (port: number, flag: string): Check => ({
  name: `port ${String(port)}`,
  run: async ({ running, isPortFree }) => {
    if (portsOf(running).includes(port)) return ok(`used by vmcp up (process ${String(running?.pid)})`);
    if (await isPortFree(port)) return ok('free');
    return warn(`used by another program: vmcp up takes the next free port, or the one of ${flag}`);
  },
});

export const mcpPort = portCheck(4483, '--port');
export const managementPort = portCheck(8080, '--management-port');
