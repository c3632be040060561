import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { buffer } from 'node:stream/consumers';
import express from 'express';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { listen, type Listener } from '../../listener.ts';
import { readBody } from './read-body.ts';
import { costOf, joinUnreadPieces } from './unread-pieces.ts';

let listener: Listener;
const arrived: IncomingMessage[] = [];
const sockets: Socket[] = [];

beforeAll(async () => {
  const app = express();
  joinUnreadPieces(app.request);
  app.use((req, _res, next) => {
    arrived.push(req);
    next();
  });
  app.post('/later', async (req, res) => {
    await sleep(30);
    res.send(await new Promise<Buffer>((resolve, reject) => readBody(req, { limit: 1 << 20 }, resolve, reject)));
  });
  app.post('/iterated', async (req, res) => {
    await sleep(10);
    res.send(await buffer(req));
  });
  app.post('/paused', (req, res) => {
    const pieces: Buffer[] = [];
    req.on('data', (piece: Buffer) => {
      pieces.push(piece);
      req.pause();
      setTimeout(() => req.resume(), 1);
    });
    req.on('end', () => void res.send(Buffer.concat(pieces)));
  });
  app.post('/never', () => undefined);
  listener = await listen(app, '127.0.0.1', 0);
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await listener.close();
});

/** Sends a body in these chunks, and leaves the connection open. */
async function post(path: string, chunks: readonly Buffer[] | Buffer): Promise<Socket> {
  const socket = connect(listener.port, '127.0.0.1');
  sockets.push(socket);
  await once(socket, 'connect');
  socket.write(`POST ${path} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n`);
  socket.write(Buffer.isBuffer(chunks) ? chunks : framed(chunks));
  return socket;
}

function framed(chunks: readonly Buffer[]): Buffer {
  const parts = chunks.flatMap((chunk) => [
    Buffer.from(`${chunk.length.toString(16)}\r\n`),
    chunk,
    Buffer.from('\r\n'),
  ]);
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
}

async function answerTo(path: string, chunks: readonly Buffer[]): Promise<Buffer> {
  const answer = await buffer(await post(path, chunks));
  return answer.subarray(answer.indexOf('\r\n\r\n') + 4);
}

const chunksOf = (body: Buffer, ...lengths: number[]): Buffer[] => {
  const chunks: Buffer[] = [];
  for (let at = 0, turn = 0; at < body.length; turn += 1) {
    const length = lengths[turn % lengths.length] ?? 1;
    chunks.push(body.subarray(at, (at += length)));
  }
  return chunks;
};

const BODY = Buffer.from(Array.from({ length: 100_000 }, (_, at) => (at * 7) % 256));

it.each(['/later', '/iterated', '/paused'])('changes no byte of a body that is read at %s', async (path) => {
  for (const lengths of [[1], [3, 5_000], [20_000], [1, 1, 1, 70_000], [4_095, 4_096]]) {
    const body = path === '/paused' && lengths[0] === 1 ? BODY.subarray(0, 30_000) : BODY;
    expect((await answerTo(path, chunksOf(body, ...lengths))).equals(body)).toBe(true);
  }
  expect((await answerTo(path, [Buffer.from('x')])).toString()).toBe('x');
  expect((await answerTo(path, [])).length).toBe(0);
});

it('row 88: keeps the bytes of a body that nobody reads, not its pieces, and stops reading its connection', async () => {
  arrived.length = 0;
  const body = framed(chunksOf(BODY, 1));
  for (let each = 0; each < 20; each += 1) await post('/never', body);
  await expect.poll(() => arrived.filter(({ socket }) => socket.bytesRead > 60_000).length).toBe(20);
  await sleep(50);
  const read = Math.max(...arrived.map(({ socket }) => socket.bytesRead));
  expect(read).toBeLessThanOrEqual(3 * 65_536);
  const pieces = arrived.map(
    (req) => (req as unknown as { _readableState: { buffer: unknown[] } })._readableState.buffer,
  );
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(8);
});

it('makes the cost of a body grow with its pieces', async () => {
  const costs: number[] = [];
  for (const lengths of [[50_000], [1]]) {
    arrived.length = 0;
    await post('/never', chunksOf(BODY.subarray(0, 50_000), ...lengths));
    await expect.poll(() => arrived[0]?.socket.bytesRead ?? 0).toBeGreaterThan(49_000);
    await sleep(20);
    const piece = arrived[0]?.read() as Buffer;
    costs.push(costOf(arrived[0] as IncomingMessage, piece) / piece.length);
  }
  expect(costs[0]).toBeLessThan(1.1);
  expect(costs[1]).toBeGreaterThan(50);
});
