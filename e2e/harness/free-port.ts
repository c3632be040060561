import { createServer } from 'node:net';

/** Below the range that the system gives to outgoing connections, so that nobody takes the port before its owner. */
const LOWEST = 15_000;
/** A range for each test process that runs beside others, and one for who runs alone: what one is about to bind no other tries. */
const LANES = 4;
const COUNT = 4_250;
const lane = Number(process.env['VITEST_POOL_ID'] ?? 0) % LANES;
const given = new Set<number>();

const canBind = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => {
      resolve(false);
    });
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });

/** The first of `count` adjacent loopback ports on which nothing listens, none of them given before by this process. */
export async function freePort(count = 1): Promise<number> {
  for (;;) {
    const first = LOWEST + lane * COUNT + Math.floor(Math.random() * (COUNT - count));
    const ports = Array.from({ length: count }, (_, index) => first + index);
    if (ports.some((port) => given.has(port)) || (await Promise.all(ports.map(canBind))).includes(false)) continue;
    for (const port of ports) given.add(port);
    return first;
  }
}
