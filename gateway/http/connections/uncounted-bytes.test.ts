import type { RequestListener } from 'node:http';
import { connect, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { listen } from '../../listener.ts';
import { readBody } from '../body/read-body.ts';

const KIB = 1024;
const LONG = 'a'.repeat(60 * KIB);
const HEAD = 'Host: x\r\nContent-Length: 65000\r\n';
/** With 60 KiB each, they send more than all clients together may hold. */
const CLIENTS = 1_200;

/** Answers a body at `/form` and a request for `/`; other requests wait, with a body that nobody reads. */
const app: RequestListener = (req, res) => {
  const answer = (): void => {
    if (!res.destroyed) res.end('fine');
  };
  if (req.url === '/form') readBody(req, { limit: 100_000 }, answer, answer);
  else if (req.url === '/call') readBody(req, { limit: 100_000, hold: () => true }, () => undefined, answer);
  else if (req.url === '/') answer();
};

async function serve() {
  let refused = 0;
  const onRefused = (): void => {
    refused += 1;
  };
  const listener = await listen(app, '127.0.0.1', 0, { maxConnections: 4 * CLIENTS, onRefused });
  onTestFinished(() => listener.close());
  const open = async (text: string): Promise<Socket> => {
    const socket = connect(listener.port, '127.0.0.1').on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
    await new Promise((resolve) => socket.once('connect', resolve));
    socket.resume().write(text);
    return socket;
  };
  const openMany = async (text: string, count = CLIENTS): Promise<Socket[]> => {
    const sockets: Socket[] = [];
    for (let index = 0; index < count; index += 1) sockets.push(await open(text));
    return sockets;
  };
  const url = `http://127.0.0.1:${String(listener.port)}`;
  return { open, openMany, refused: () => refused, post: (path: string, body: string) => post(url + path, body) };
}

const post = async (url: string, body: string): Promise<string> => (await fetch(url, { method: 'POST', body })).text();

const openOf = (sockets: readonly Socket[]): number => sockets.filter(({ destroyed }) => !destroyed).length;

it.each([
  ['heads', `POST / HTTP/1.1\r\nHost: x\r\nx-long: ${LONG}`],
  ['forms', `POST /form HTTP/1.1\r\n${HEAD}\r\n${LONG}`],
  ['bodies that nobody reads yet', `POST /wait HTTP/1.1\r\n${HEAD}\r\n${LONG}`],
  ['heads behind a complete request', `GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nx-long: ${LONG}`],
])('row 117: closes the oldest connections when clients hold too much with incomplete %s', async (_what, text) => {
  const { open, openMany, post, refused } = await serve();
  const small = await open('POST /form HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf');
  const many = await openMany(text);
  await expect.poll(() => openOf(many)).toBeLessThanOrEqual((48 * KIB) / 60);
  expect(small.destroyed).toBe(false);
  expect(await post('/form', LONG)).toBe('fine');
  expect(refused()).toBeLessThanOrEqual(CLIENTS);
});

it('row 117: counts connections with a request and without one together', async () => {
  const { openMany } = await serve();
  const heads = await openMany(`POST / HTTP/1.1\r\nHost: x\r\nx-long: ${LONG}`, 600);
  const forms = await openMany(`POST /form HTTP/1.1\r\n${HEAD}\r\n${LONG}`, 600);
  await expect.poll(() => openOf(heads) + openOf(forms)).toBeLessThanOrEqual((48 * KIB) / 60);
});

it('keeps connections whose bodies a budget counts', async () => {
  const { openMany } = await serve();
  const many = await openMany(`POST /call HTTP/1.1\r\n${HEAD}\r\n${LONG}`, 1_000);
  await new Promise((resolve) => setTimeout(resolve, 600));
  expect(openOf(many)).toBe(1_000);
});

it.each([
  ['Content-Length', `POST /form HTTP/1.1\r\nHost: x\r\nContent-Length: ${String(LONG.length)}\r\n\r\n${LONG}`],
  ['chunks', `POST /form HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nf000\r\n${LONG}\r\n0\r\n\r\n`],
])('keeps the connection of a client whose large bodies are complete (%s)', async (_framing, text) => {
  const { open } = await serve();
  const socket = await open('');
  let answers = 0;
  socket.on('data', (data: Buffer) => (answers += data.toString().split('fine').length - 1));
  for (let round = 1; round <= 3; round += 1) {
    socket.write(text);
    await expect.poll(() => answers).toBe(round);
  }
  expect(socket.destroyed).toBe(false);
});
