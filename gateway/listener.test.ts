import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import express from 'express';
import { afterEach, expect, it } from 'vitest';
import { listen, ListenError } from './listener.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
const UNREAD_MS = 500;
const MOST_CONNECTIONS = 5;

async function serve(app: RequestListener, unreadMs = UNREAD_MS): Promise<number> {
  const listener = await listen(app, '127.0.0.1', 0, { maxConnections: MOST_CONNECTIONS, unreadMs });
  cleanups.push(() => listener.close());
  return listener.port;
}

function client(port: number): Socket {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  cleanups.push(() => socket.destroy());
  socket.write(REQUEST);
  return socket;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

it('disconnects a client that does not read a long answer', async () => {
  const closed = Promise.withResolvers<boolean>();
  const port = await serve((_req, res) => {
    res.on('close', () => {
      closed.resolve(res.writableFinished);
    });
    res.end(Buffer.alloc(50_000_000));
  });
  client(port).pause();
  expect(await closed.promise).toBe(false);
});

it('keeps a client that reads slowly for longer than the limit', async () => {
  const unreadMs = 2_000; // a busy machine may stop the reader for a second
  const startedAt = performance.now();
  const port = await serve((_req, res) => {
    res.end(Buffer.alloc(20_000_000));
  }, unreadMs);
  const socket = client(port);
  let length = 0;
  for await (const chunk of socket) {
    length += (chunk as Buffer).length;
    if (length > 20_000_000) break;
    await pause(15);
  }
  expect(length).toBeGreaterThan(20_000_000);
  expect(performance.now() - startedAt).toBeGreaterThan(unreadMs * 2);
});

it('waits for a slow answer and keeps an idle stream', async () => {
  const port = await serve((_req, res) => {
    res.write('begin');
    setTimeout(() => {
      res.end('end');
    }, UNREAD_MS * 4);
  });
  let text = '';
  for await (const chunk of client(port)) {
    text += String(chunk);
    if (text.includes('end')) break;
  }
  expect(text).toContain('begin');
  expect(text).toContain('end');
});

it('creates messages with the prototypes of an Express app, which sets no others', async () => {
  const app = express();
  const prototypes: unknown[] = [];
  const observed = (req: IncomingMessage, res: ServerResponse): void => {
    const before = [req, res].map((message): unknown => Object.getPrototypeOf(message));
    app(req, res);
    prototypes.push(before, [Object.getPrototypeOf(req), Object.getPrototypeOf(res)]);
  };
  app.get('/', ({ ip }, res) => res.send(ip));
  const port = await serve(Object.assign(observed, { request: app.request, response: app.response }));
  expect(await (await fetch(`http://127.0.0.1:${String(port)}/`)).text()).toBe('127.0.0.1');
  const [before, after] = prototypes as [unknown[], unknown[]];
  expect(before[0]).toBe(app.request);
  expect(before[1]).toBe(app.response);
  expect(after[0]).toBe(before[0]);
  expect(after[1]).toBe(before[1]);
});

it('names the port that is in use', async () => {
  const port = await serve((_req, res) => res.end());
  await expect(listen((_req, res) => res.end(), '127.0.0.1', port)).rejects.toThrow(ListenError);
  await expect(listen((_req, res) => res.end(), '127.0.0.1', port)).rejects.toThrow(`port ${String(port)}`);
});

it('says what to do about an address of another machine', async () => {
  const listening = listen((_req, res) => res.end(), '192.0.2.1', 0);
  await expect(listening).rejects.toThrow(/\(EADDRNOTAVAIL\): use an address of this machine$/u);
});

it('closes connections above its limit at once and reports them', async () => {
  let refused = 0;
  const onRefused = (): void => {
    refused += 1;
  };
  const listener = await listen((_req, res) => res.end('fine'), '127.0.0.1', 0, { maxConnections: 2, onRefused });
  cleanups.push(() => listener.close());
  const first = [client(listener.port), client(listener.port)];
  await Promise.all(first.map((socket) => new Promise((resolve) => socket.once('data', resolve))));
  const third = client(listener.port);
  await new Promise((resolve) => third.once('close', resolve));
  expect(refused).toBe(1);
  first[0]?.destroy();
  await expect
    .poll(
      () =>
        new Promise((resolve) => {
          const next = client(listener.port);
          next
            .once('data', () => {
              resolve('served');
            })
            .once('close', () => {
              resolve('closed');
            });
        }),
    )
    .toBe('served');
});
