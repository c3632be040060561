import type { RequestListener } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, it, type TestContext } from 'vitest';
import { listen, type ListenerLimits } from '../../listener.ts';
import { forwardedAddresses } from '../client-address.ts';

const request = (path: string, ...headers: string[]): string =>
  [`GET ${path} HTTP/1.1`, 'Host: x', ...headers, '', ''].join('\r\n');
const INCOMPLETE = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf';
/** Somewhat longer than the time after which a client that does nothing may lose its connection. */
const IDLE_MS = 1_100;

interface Client {
  readonly socket: Socket;
  readonly received: () => string;
  readonly isClosed: () => boolean;
}

/** Listens with four connections unless `limits` says otherwise. `/stream` begins an endless response, `/slow` none. */
async function serve(
  { expect, onTestFinished }: Pick<TestContext, 'expect' | 'onTestFinished'>,
  limits: ListenerLimits = {},
) {
  let closed = 0;
  const onRefused = (): void => {
    closed += 1;
  };
  const app: RequestListener = (req, res) => {
    if (req.url === '/stream') res.writeHead(200).write('begin');
    else if (req.method === 'GET' && req.url !== '/slow') res.end('fine');
  };
  const listener = await listen(app, '127.0.0.1', 0, { maxConnections: 4, onRefused, ...limits });
  onTestFinished(() => listener.close());
  const open = async (text: string, localAddress = '127.0.0.1'): Promise<Client> => {
    const socket = connect({ port: listener.port, host: '127.0.0.1', localAddress }).on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
    let received = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => (received += chunk));
    await new Promise((resolve) => socket.once('connect', resolve));
    socket.write(text);
    return { socket, received: () => received, isClosed: () => socket.destroyed };
  };
  const fill = async (text: string, localAddress?: string): Promise<Client[]> => {
    const clients: Client[] = [];
    for (let count = 0; count < 4; count += 1) clients.push(await open(text, localAddress));
    await sleep(20); // the server reads what they have sent
    return clients;
  };
  const served = (client: Client) => expect.poll(client.received).toMatch(/^HTTP\/1.1 200[^]*fine$/u);
  const closedOnly = async (clients: readonly Client[], expected: readonly boolean[]): Promise<void> => {
    await expect.poll(() => clients.map((one) => one.isClosed())).toEqual(expected);
  };
  return { open, fill, served, closedOnly, closed: () => closed };
}

describe.concurrent('at the limit of connections', () => {
  it.for<readonly [what: string, text: string]>([
    ['sends nothing', ''],
    ['sends a part of a head', 'GET / HTTP/1.1\r\nHo'],
  ])('row 92: a new client takes the place of the oldest one that %s', async ([, text], context) => {
    const { expect } = context;
    const { open, fill, closed, served, closedOnly } = await serve(context);
    const silent = await fill(text);
    await served(await open(request('/')));
    await closedOnly(silent, [true, false, false, false]);
    await served(await open(request('/')));
    await closedOnly(silent, [true, true, false, false]);
    expect(closed()).toBe(2);
  });

  it.for<readonly [what: string, text: string]>([
    ['has its response', request('/')],
    ['does not send the rest of its request', INCOMPLETE],
  ])('row 92: a new client takes the place of the oldest one that %s for a while', async ([, text], context) => {
    const { open, fill, served, closedOnly } = await serve(context);
    const idle = await fill(text);
    await sleep(IDLE_MS);
    await served(await open(request('/')));
    await closedOnly(idle, [true, false, false, false]);
  });

  it('row 92: the address with the most idle connections loses one first', async (context) => {
    const { open, served, closedOnly } = await serve(context);
    const others = await open(request('/'), '127.0.0.2');
    const many = [await open(request('/')), await open(request('/')), await open(request('/'))];
    await sleep(IDLE_MS);
    await served(await open(request('/'), '127.0.0.3'));
    await closedOnly([others, ...many], [false, true, false, false]);
  });

  it('row 93: probes are answered while every connection is in use', async (context) => {
    const { expect } = context;
    const { open, fill, served, closedOnly } = await serve(context);
    const busy = await fill(request('/slow'));
    for (const path of ['/health', '/readyz', '/metrics?x']) {
      const probe = await open(request(path));
      await served(probe);
      expect(probe.received()).toContain('Connection: close');
    }
    const other = await open(request('/other'));
    await closedOnly([...busy, other], [false, false, false, false, true]);
    expect(other.received()).toBe('');
  });

  it('row 93: probes are answered while silent clients connect all the time', async (context) => {
    const { open, fill, served } = await serve(context, { maxConnections: 64 });
    for (let count = 0; count < 16; count += 1) await fill(request('/slow'));
    const attack = setInterval(() => void open(''), 5);
    context.onTestFinished(() => {
      clearInterval(attack);
    });
    for (let count = 0; count < 20; count += 1) await served(await open(request('/health')));
  });

  it('row 94: an address gives up its oldest stream above half of the connections, for clients of another', async (context) => {
    const { open, fill, served, closedOnly } = await serve(context);
    const streams = await fill(request('/stream'), '127.0.0.2');
    const same = await open(request('/'), '127.0.0.2');
    await closedOnly([...streams, same], [false, false, false, false, true]);
    await sleep(300); // the next search
    await served(await open(request('/')));
    await served(await open(request('/')));
    await closedOnly(streams, [true, true, false, false]);
  });

  it('row 94: behind a trusted proxy the forwarded address counts', async (context) => {
    const { open, fill, served, closedOnly } = await serve(context, {
      addresses: () => forwardedAddresses(['127.0.0.1']),
    });
    const streams = await fill(request('/stream', 'X-Forwarded-For: 203.0.113.7'));
    const same = await open(request('/', 'X-Forwarded-For: 203.0.113.7'));
    await closedOnly([...streams, same], [false, false, false, false, true]);
    await sleep(300);
    await served(await open(request('/', 'X-Forwarded-For: 203.0.113.8')));
    await closedOnly(streams, [true, false, false, false]);
  });

  it('row 94: one address holds at most a quarter of the connections without a request', async (context) => {
    const { expect } = context;
    const { open } = await serve(context, { maxConnections: 1_200 });
    const honest = await open('', '127.0.0.2');
    const silent: Client[] = [];
    for (let count = 0; count < 310; count += 1) silent.push(await open(''));
    await expect.poll(() => silent.map((one) => one.isClosed()).lastIndexOf(true)).toBe(9);
    expect(honest.isClosed()).toBe(false);
  });

  it.for<readonly [what: string, text: string]>([
    ['sends nothing', ''],
    ['sends a part of a head', 'GET / HTTP/1.1\r\nHo'],
  ])('row 95: a client that %s is disconnected after some seconds', async ([, text], context) => {
    const { expect } = context;
    const { open } = await serve(context, { headMs: 300 });
    const client = await open(text);
    await expect.poll(client.isClosed).toBe(true);
    expect(client.received()).toMatch(/^HTTP\/1.1 408/u);
  });

  it('row 95: a client that sends its head byte by byte is disconnected after some seconds', async (context) => {
    const { expect } = context;
    const { open } = await serve(context, { headMs: 300 });
    const client = await open('GET /');
    const drip = setInterval(() => client.socket.write('a'), 20);
    context.onTestFinished(() => {
      clearInterval(drip);
    });
    await expect.poll(client.isClosed).toBe(true);
    expect(client.received()).toMatch(/^HTTP\/1.1 408/u);
  });
});
