import { once } from 'node:events';
import { request } from 'node:http';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { createIngress, createPublisher } from './ingress.ts';

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup();
});

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** Starts a server and a function that connects to it after `release`. `open` holds the connections. */
async function startLate() {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
    socket.on('error', () => undefined);
  });
  const port = await listen(server);
  cleanups.push(() => {
    for (const socket of open) socket.destroy();
  });
  const released = Promise.withResolvers<undefined>();
  let asked = 0;
  let connected = 0;
  const dial = async (): Promise<Socket> => {
    asked += 1;
    await released.promise;
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    await once(socket, 'connect');
    connected += 1;
    return socket;
  };
  const release = (): void => {
    released.resolve(undefined);
  };
  return { open, dial, release, asked: () => asked, connected: () => connected };
}

it('closes the connection to the server when the client of a request left before it was opened', async () => {
  const { open, dial, release, asked, connected } = await startLate();
  const port = await listen(createIngress({ connect: dial }));
  const calls = Array.from({ length: 10 }, () =>
    request({ port, host: '127.0.0.1' })
      .on('error', () => undefined)
      .end(),
  );
  await expect.poll(asked).toBe(10);
  for (const call of calls) call.destroy();
  const last = request({ port, host: '127.0.0.1' })
    .on('error', () => undefined)
    .end();
  cleanups.push(() => last.destroy());
  await expect.poll(asked).toBe(11);
  release();
  await expect.poll(connected).toBe(11);
  await expect.poll(() => open.size).toBe(1);
});

it('closes the connection to the server when the client of a published port left before it was opened', async () => {
  const { open, dial, release, asked, connected } = await startLate();
  const port = await listen(createPublisher(dial));
  const clients = Array.from({ length: 10 }, () => connect(port, '127.0.0.1').on('error', () => undefined));
  await expect.poll(asked).toBe(10);
  for (const client of clients) client.resetAndDestroy();
  const last = connect(port, '127.0.0.1');
  cleanups.push(() => last.destroy());
  await expect.poll(asked).toBe(11);
  release();
  await expect.poll(connected).toBe(11);
  await expect.poll(() => open.size).toBe(1);
});
