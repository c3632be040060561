import type { Server } from 'node:http';

/** Listens on an address of this machine. Rejects when the program cannot. */
export const listen = (server: Server, port: string | number, host = '127.0.0.1'): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(Number(port), host, resolve);
  });

/** Ends the program with one sentence that names the address and the `setting` that changes it, in place of a stack. */
export function failToListen(error: unknown, setting = '--port'): void {
  const { message, code } = error as NodeJS.ErrnoException;
  const reason = code === 'ERR_SOCKET_BAD_PORT' ? 'the port is not a number below 65536' : message;
  const first = code === 'EADDRINUSE' ? 'stop the program that listens there, or ' : '';
  process.stderr.write(`${reason}: ${first}choose another with ${setting}\n`);
  process.exitCode = 1;
}
