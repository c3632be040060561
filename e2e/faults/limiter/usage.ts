import { once } from 'node:events';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Scope } from '../../harness/scope.ts';

/** Resources of a process. */
export interface Usage {
  /** Processor time of all threads since the start. */
  readonly cpuMs: number;
  /** Memory of the heap and of buffers. */
  readonly heldMiB: number;
}

/** Variables with which a process reports its usage on the socket `path`. */
export const reportingTo = (path: string): Readonly<Record<string, string>> => ({
  NODE_OPTIONS: `--expose-gc --import=${fileURLToPath(import.meta.resolve('./usage-reporter.ts'))}`,
  VMCP_USAGE_SOCKET: path,
});

/** Connects to a process that reports to `path`. `read('live')` collects garbage first. */
export async function usageOf(scope: Scope, path: string): Promise<(command?: 'live') => Promise<Usage>> {
  const socket = connect(path);
  scope.defer(() => socket.destroy());
  await once(socket, 'connect');
  return async (command) => {
    socket.write(`${command ?? 'now'}\n`);
    const [line] = (await once(socket, 'data')) as [Buffer];
    return JSON.parse(line.toString()) as Usage;
  };
}
