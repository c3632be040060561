import { createServer } from 'node:net';

/** Preloaded into a process: answers each line on the Unix socket `VMCP_USAGE_SOCKET` with what the process has used. */
const MIB = 1024 * 1024;

/** Collects garbage first for the command `live`, so that `heldMiB` is what is referenced. */
function usage(command: string): object {
  if (command === 'live') globalThis.gc?.();
  const { user, system } = process.cpuUsage();
  const { heapUsed, external } = process.memoryUsage();
  return { cpuMs: (user + system) / 1_000, heldMiB: (heapUsed + external) / MIB };
}

const server = createServer((socket) => {
  socket.unref().on('error', () => undefined);
  socket.on('data', (line: Buffer) => void socket.write(`${JSON.stringify(usage(line.toString().trim()))}\n`));
});
server.listen(process.env['VMCP_USAGE_SOCKET']).unref();
