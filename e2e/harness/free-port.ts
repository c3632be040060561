import { createServer } from 'node:net';

/** Below the range of outgoing connections, so that the system does not use a port before its owner binds it. */
const LOWEST = 15_000;
/** Test processes that run at the same time use different lanes of ports: no process takes a port that another is about to bind. */
const LANES = 8;
const COUNT = 2_125;
/** `PORT_LANE` is the first lane of a second run of vitest beside the first. */
const lane = (Number(process.env['VITEST_POOL_ID'] ?? 0) + Number(process.env['PORT_LANE'] ?? 0)) % LANES;
const given = new Set<number>();

const canBind = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => {
      resolve(false);
    });
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });

/** Returns the first of `count` adjacent loopback ports that are free and that this process has not tried before. */
export async function freePort(count = 1): Promise<number> {
  for (;;) {
    const first = LOWEST + lane * COUNT + Math.floor(Math.random() * (COUNT - count));
    const ports = Array.from({ length: count }, (_, index) => first + index);
    if (ports.some((port) => given.has(port))) continue;
    for (const port of ports) given.add(port); // before any pause: calls may run at the same time
    if (!(await Promise.all(ports.map(canBind))).includes(false)) return first;
  }
}
