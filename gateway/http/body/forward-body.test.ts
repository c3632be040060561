import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type RequestListener } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { heldBytes } from '../../bytes/testdata/held-bytes.ts';
import { forwardBody } from './forward-body.ts';
import { joinUnreadPieces } from './unread-pieces.ts';

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup();
});

async function serve(onRequest: RequestListener): Promise<number> {
  const server = createServer(onRequest).listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Forwards each request to the server on `port`, and its reply to the client. */
const proxyOf = (port: number): Promise<number> =>
  serve((req, res) => {
    joinUnreadPieces(req);
    const { method, headers } = req;
    const outgoing = request({ port, host: '127.0.0.1', method, headers, agent: false });
    cleanups.push(() => outgoing.destroy());
    outgoing.on('error', () => undefined);
    outgoing.once('response', (reply) => {
      joinUnreadPieces(reply);
      res.writeHead(reply.statusCode ?? 0, reply.headers);
      forwardBody(reply, res);
    });
    forwardBody(req, outgoing);
  });

function send(port: number, pieces: readonly Buffer[]): Promise<IncomingMessage> {
  const sent = request({ port, host: '127.0.0.1', method: 'POST', agent: false });
  for (const piece of pieces) sent.write(piece);
  sent.end();
  return once(sent, 'response').then(([reply]) => reply as IncomingMessage);
}

it('changes no byte, of short and of long pieces, and of slow receivers', async () => {
  const body = Buffer.from(Array.from({ length: 600_000 }, (_, at) => (at * 7) % 251));
  const echo = await serve(async (req, res) => {
    await sleep(20);
    const received = await buffer(req);
    for (let at = 0; at < 3_000; at += 1) res.write(received.subarray(at, at + 1));
    res.end(received.subarray(3_000));
  });
  const proxy = await proxyOf(echo);
  const short = Array.from({ length: 5_000 }, (_, at) => body.subarray(at, at + 1));
  const reply = await send(proxy, [...short, body.subarray(5_000)]);
  await sleep(20);
  expect((await buffer(reply)).equals(body)).toBe(true);
  expect((await buffer(await send(proxy, []))).length).toBe(0);
});

it('row 88: bounds the memory of bodies in one-byte chunks whose receiver reads nothing', async () => {
  const forwarded: IncomingMessage[] = [];
  const port = await serve((req) => {
    joinUnreadPieces(req);
    forwarded.push(req);
    forwardBody(req, new Writable({ write: () => undefined }));
  });
  const chunks = Buffer.from('1\r\nx\r\n'.repeat(150_000));
  const before = heldBytes();
  for (let each = 0; each < 4; each += 1) {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    cleanups.push(() => socket.destroy());
    socket.write('POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n');
    socket.write(chunks);
  }
  await expect.poll(() => forwarded.length).toBe(4);
  const read = (): number => forwarded.reduce((sum, { socket }) => sum + socket.bytesRead, 0);
  let last = Number.NaN;
  while (last !== read()) {
    last = read();
    await sleep(100);
  }
  expect(read()).toBeGreaterThan(4 * 60_000);
  expect((heldBytes() - before) / 4).toBeLessThan(1_000_000);
});
