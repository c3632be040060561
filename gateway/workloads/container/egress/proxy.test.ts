import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer, request } from 'node:http';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { createEgressProxy, type EgressOptions } from './proxy.ts';

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup();
});

const CONNECT_MS = 150;
const ESTABLISHED = 'HTTP/1.1 200 Connection established\r\n\r\n';

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

const startProxy = (options: Partial<EgressOptions> = {}): Promise<number> =>
  listen(
    createEgressProxy({
      isolation: { allow_container_gateway: true },
      onRefused: () => undefined,
      connectTimeoutMs: CONNECT_MS,
      ...options,
    }),
  );

/** Starts a server that keeps its side open when a client ends. `open` holds its connections. */
async function startRemote(onConnection: (socket: Socket) => void = () => undefined) {
  const open = new Set<Socket>();
  let accepted = 0;
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    accepted += 1;
    open.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => open.delete(socket));
    onConnection(socket);
  });
  const port = await listen(server);
  cleanups.push(() => {
    for (const socket of open) socket.destroy();
  });
  return { port, open, accepted: () => accepted };
}

function ask(proxyPort: number, target: string): Socket {
  const client = connect({ port: proxyPort, host: '127.0.0.1', allowHalfOpen: true });
  client.on('error', () => undefined);
  cleanups.push(() => client.destroy());
  client.write(`CONNECT ${target} HTTP/1.1\r\nhost: ${target}\r\n\r\n`);
  return client;
}

/** Reads until `length` bytes have come, or the connection has ended. */
async function read(socket: Socket, length: number): Promise<string> {
  let text = '';
  const closed = new AbortController();
  socket.once('close', () => {
    closed.abort();
  });
  while (text.length < length) text += String((await once(socket, 'data', { signal: closed.signal }))[0]);
  return text;
}

describe('a connection through the proxy', () => {
  it('carries bytes in both directions after the time to connect has passed', async () => {
    const remote = await startRemote((socket) => socket.pipe(socket));
    const client = ask(await startProxy(), `127.0.0.1:${remote.port}`);
    await read(client, ESTABLISHED.length);
    for (let turn = 0; turn < 4; turn += 1) {
      await sleep(CONNECT_MS / 2);
      client.write(`turn ${turn}`);
      expect(await read(client, 6)).toBe(`turn ${turn}`);
    }
  });

  it('carries a reply that takes longer than the time to connect', async () => {
    const server = createHttpServer((_request, response) => {
      response.write('first ');
      setTimeout(() => response.end('last'), CONNECT_MS * 2);
    });
    const url = `http://127.0.0.1:${await listen(server)}/`;
    const call = request({ port: await startProxy(), host: '127.0.0.1', path: url }).end();
    const [reply] = (await once(call, 'response')) as [NodeJS.ReadableStream];
    let text = '';
    for await (const piece of reply) text += String(piece);
    expect(text).toBe('first last');
  });

  it('sends the bytes that follow the request at once', async () => {
    const remote = await startRemote((socket) => socket.pipe(socket));
    const client = connect(await startProxy(), '127.0.0.1');
    client.write(`CONNECT 127.0.0.1:${remote.port} HTTP/1.1\r\n\r\nearly`);
    expect(await read(client, ESTABLISHED.length + 5)).toBe(`${ESTABLISHED}early`);
    client.destroy();
  });

  it('forwards the end of one side while the other still sends', async () => {
    const remote = await startRemote((socket) => {
      socket.resume().once('end', () => setTimeout(() => socket.end('reply'), CONNECT_MS * 2));
    });
    const client = ask(await startProxy(), `127.0.0.1:${remote.port}`);
    await read(client, ESTABLISHED.length);
    client.end('question');
    expect(await read(client, 5)).toBe('reply');
    await once(client, 'close');
    await expect.poll(() => remote.open.size).toBe(0);
  });
});

describe('a client that leaves (row 110)', () => {
  it.each([
    ['ends', (client: Socket) => client.end()],
    ['closes', (client: Socket) => client.destroy()],
    ['resets', (client: Socket) => client.resetAndDestroy()],
  ])('and %s its side while the proxy looks a name up causes no connection', async (_how, leave) => {
    const found = Promise.withResolvers<[{ address: string; family: number }]>();
    let asked = 0;
    const lookup = () => {
      asked += 1;
      return found.promise;
    };
    const isolation = { allow_hosts: ['api.test'], allow_container_gateway: true };
    const proxyPort = await startProxy({ lookup, isolation, connectTimeoutMs: 60_000 });
    const remote = await startRemote();
    const clients = Array.from({ length: 40 }, () => ask(proxyPort, `api.test:${remote.port}`));
    const call = request({ port: proxyPort, host: '127.0.0.1', path: `http://api.test:${remote.port}/` }).end();
    call.once('error', () => undefined);
    await expect.poll(() => asked).toBe(41);
    for (const client of clients) leave(client);
    call.destroy();
    await sleep(50);
    found.resolve([{ address: '127.0.0.1', family: 4 }]);
    const last = ask(proxyPort, `api.test:${remote.port}`);
    await read(last, ESTABLISHED.length);
    await sleep(50);
    expect([remote.accepted(), remote.open.size]).toEqual([1, 1]);
  });

  it.each([
    ['closes', (client: Socket) => client.destroy()],
    ['resets', (client: Socket) => client.resetAndDestroy()],
  ])('and %s its connection while the remote sends ends the remote', async (_how, leave) => {
    const remote = await startRemote((socket) => {
      const timer = setInterval(() => socket.write('tick'), 10);
      socket.on('close', () => {
        clearInterval(timer);
      });
    });
    const client = ask(await startProxy(), `127.0.0.1:${remote.port}`);
    await read(client, ESTABLISHED.length + 4);
    leave(client);
    await expect.poll(() => remote.open.size).toBe(0);
  });
});

/** Starts a listener that accepts nothing, and fills its queue, so that further connections stay in the state SYN-SENT. */
async function startSilent(): Promise<number> {
  const program = `require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 },
    function () { console.log(this.address().port); })`;
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const port = Number(String((await once(child.stdout, 'data'))[0]));
  child.kill('SIGSTOP');
  for (let count = 0; count < 4; count += 1) {
    const filler = connect(port, '127.0.0.1').on('error', () => undefined);
    cleanups.push(() => filler.destroy());
  }
  await sleep(50);
  cleanups.push(() => child.kill('SIGKILL'));
  return port;
}

/** Counts the connections of this machine to `port` that wait for their answer. */
const waitingFor = (port: number): number =>
  readFileSync('/proc/net/tcp', 'latin1')
    .split('\n')
    .filter((line) => line.includes(`:${port.toString(16).toUpperCase().padStart(4, '0')} 02 `)).length;

describe.runIf(process.platform === 'linux')('a destination that does not answer', () => {
  it('gets 502 after the time to connect, and no attempt remains', async () => {
    const port = await startSilent();
    const before = waitingFor(port);
    const client = ask(await startProxy(), `127.0.0.1:${port}`);
    expect(await read(client, 12)).toMatch(/^HTTP\/1\.1 502 /u);
    await expect.poll(() => waitingFor(port)).toBe(before);
  });

  it('is dropped when the client leaves', async () => {
    const port = await startSilent();
    const before = waitingFor(port);
    const proxyPort = await startProxy({ connectTimeoutMs: 60_000 });
    const clients = Array.from({ length: 10 }, () => ask(proxyPort, `127.0.0.1:${port}`));
    await expect.poll(() => waitingFor(port)).toBe(before + 10);
    for (const client of clients) client.destroy();
    await expect.poll(() => waitingFor(port)).toBe(before);
  });
});
