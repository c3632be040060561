import { createServer } from 'node:net';

/** Below the range that the system gives to outgoing connections, so that nobody takes the port before its owner. */
const LOWEST = 15_000;
const COUNT = 17_000;
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
    const first = LOWEST + Math.floor(Math.random() * COUNT);
    const ports = Array.from({ length: count }, (_, index) => first + index);
    if (ports.some((port) => given.has(port)) || (await Promise.all(ports.map(canBind))).includes(false)) continue;
    for (const port of ports) given.add(port);
    return first;
  }
}
