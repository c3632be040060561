import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Binds 127.0.0.1 and resolves to the port; 0 chooses a free port. */
export function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', 1024, () => {
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/** Prints the ports for the benchmark, and ends this process when the benchmark ends. */
export function announce(ports: readonly number[]): void {
  process.stdin.resume().once('end', () => process.exit(0));
  process.stdout.write(`${JSON.stringify({ ports })}\n`);
}
