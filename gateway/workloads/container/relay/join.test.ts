import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { join } from './join.ts';

const HALF_CLOSED_MS = 300;
const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup();
});

/** Returns both ends of a connection, neither of which closes its side by itself. */
async function pair(): Promise<{ near: Socket; far: Socket }> {
  const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const far = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true });
  const [near] = (await once(server, 'connection')) as [Socket];
  for (const socket of [near, far]) {
    socket.on('error', () => undefined);
    cleanups.push(() => socket.destroy());
  }
  server.close();
  return { near, far };
}

async function joined() {
  const [client, remote] = [await pair(), await pair()];
  join(client.near, remote.near, HALF_CLOSED_MS);
  return { client, remote, isOpen: () => !client.near.destroyed || !remote.near.destroyed };
}

describe('two joined sockets', () => {
  it('stay open without bytes while neither side has ended', async () => {
    const { client, remote } = await joined();
    await sleep(HALF_CLOSED_MS * 1.5);
    client.far.write('x');
    expect(String((await once(remote.far, 'data'))[0])).toBe('x');
  });

  it('close when one side has ended and the other is silent', async () => {
    const { client, remote, isOpen } = await joined();
    client.far.end();
    await once(remote.far.resume(), 'end');
    expect(isOpen()).toBe(true);
    await expect.poll(isOpen).toBe(false);
  });

  it('stay open when one side has ended and the other sends', async () => {
    const { client, remote, isOpen } = await joined();
    client.far.resume().end();
    for (let turn = 0; turn < 9; turn += 1) {
      remote.far.write('x');
      await sleep(HALF_CLOSED_MS / 6);
    }
    expect(isOpen()).toBe(true);
    remote.far.end();
    await expect.poll(isOpen).toBe(false);
  });

  it('close when the side that has ended fails', async () => {
    const { client, remote } = await joined();
    client.far.end();
    await once(remote.far.resume(), 'end');
    client.near.destroy();
    await expect.poll(() => remote.near.destroyed, { timeout: HALF_CLOSED_MS / 2, interval: 5 }).toBe(true);
  });

  it('close when one was closed before they are joined', async () => {
    const [client, remote] = [await pair(), await pair()];
    client.near.destroy();
    join(client.near, remote.near);
    expect(remote.near.destroyed).toBe(true);
  });

  it('wait for a side that reads slowly', async () => {
    const { client, remote } = await joined();
    remote.far.pause();
    const sent = 64 * 1024 * 1024;
    client.far.write(Buffer.alloc(sent));
    await sleep(HALF_CLOSED_MS);
    const held = client.near.readableLength + remote.near.writableLength;
    expect(held).toBeLessThan(1024 * 1024);
    let received = 0;
    remote.far.on('data', (piece: Buffer) => (received += piece.length)).resume();
    await expect.poll(() => received).toBe(sent);
  });
});
