import { connect, createServer, type Socket } from 'node:net';
import type { Scope } from './scope.ts';

/** A load balancer of TCP connections. */
export interface RoundRobin {
  /** Target ports, used in turn; ports without a listener are skipped. */
  targets: readonly number[];
  /** Number of connections by target. */
  readonly counts: ReadonlyMap<number, number>;
}

/** Listens on `port` of loopback until the scope ends. */
export async function startRoundRobin(scope: Scope, port: number, targets: readonly number[]): Promise<RoundRobin> {
  const counts = new Map<number, number>();
  const state: RoundRobin = { targets, counts };
  const sockets = new Set<Socket>();
  let next = 0;
  const join = (client: Socket, tries: number): void => {
    const target = state.targets[(next += 1) % state.targets.length];
    if (target === undefined || tries === 0) {
      client.destroy();
      return;
    }
    const upstream = connect(target, '127.0.0.1');
    upstream.once('connect', () => {
      counts.set(target, (counts.get(target) ?? 0) + 1);
      sockets.add(upstream);
      client.pipe(upstream).pipe(client);
      upstream.removeAllListeners('error').on('error', () => client.destroy());
      upstream.once('close', () => client.destroy());
      client.once('close', () => upstream.destroy());
    });
    upstream.once('error', () => {
      join(client, tries - 1);
    });
  };
  const server = createServer((client) => {
    sockets.add(client);
    client.on('error', () => client.destroy());
    join(client, state.targets.length);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve);
  });
  scope.defer(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return state;
}
