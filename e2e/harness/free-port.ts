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

/** A loopback port on which nothing listens, never the same twice in this process. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = LOWEST + Math.floor(Math.random() * COUNT);
    if (given.has(port) || !(await canBind(port))) continue;
    given.add(port);
    return port;
  }
}
