import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import { heldBytes } from '../../bytes/testdata/held-bytes.ts';
import { Account, createBudgets } from '../budgets/account.ts';
import { readEventId } from './event-stream.ts';
import { KEPT_BYTES } from './kept-events.ts';
import { SessionStreams } from './session-streams.ts';

const account = (): Account => new Account('alice', createBudgets(), () => undefined);

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

/** Opens both ends of one connection. The client reads nothing at first. */
async function connection(): Promise<{ res: ServerResponse; client: Promise<IncomingMessage> }> {
  const accepted = Promise.withResolvers<ServerResponse>();
  const server = createServer((_req, res) => {
    accepted.resolve(res);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = new Promise<IncomingMessage>((resolve) => {
    get({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', agent: false }, resolve).on('error', () => {
      // the server destroys the connection in this test
    });
  });
  cleanups.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { res: await accepted.promise, client };
}

const message = (bytes: number): Buffer => Buffer.from(JSON.stringify({ text: 'x'.repeat(bytes) }));

describe('EventStream', () => {
  it('closes the connection of a client that reads nothing before its unread bytes fill the memory', async () => {
    const { res } = await connection();
    const stream = new SessionStreams(account()).open('1');
    stream.attach(res);
    for (let count = 0; count < 100; count += 1) stream.send(message(1_000_000));
    expect(res.destroyed).toBe(true);
    expect(res.writableLength).toBeLessThan(40_000_000);
    expect(stream.connected).toBe(false);
  });

  it('row 89: counts what unread short events take in memory, and only until they are sent', async () => {
    const budgets = createBudgets();
    const { res, client } = await connection();
    const stream = new SessionStreams(new Account('alice', budgets, () => undefined)).open('1');
    stream.attach(res);
    const before = heldBytes();
    let sent = 0;
    for (; budgets.reply.used < 20_000_000 && sent < 100_000; sent += 1) stream.send(message(1));
    expect(sent).toBeLessThan(50_000);
    expect(heldBytes() - before).toBeLessThan(1.5 * budgets.reply.used);
    (await client).resume();
    await expect.poll(() => res.writableLength).toBe(0);
    stream.send(message(1));
    expect(budgets.reply.used).toBe(0);
  });

  it('sends one long reply to a client that reads slowly', async () => {
    const { res, client } = await connection();
    const stream = new SessionStreams(account()).open('1');
    stream.attach(res);
    stream.send(message(30_000_000));
    stream.end();
    let length = 0;
    for await (const chunk of await client) length += (chunk as Buffer).length;
    expect(length).toBeGreaterThan(30_000_000);
  });
});

describe('a stream of a call whose client resumes it', () => {
  /** Returns a writable end of a connection, and what was written to it. */
  function endOf() {
    const pieces: string[] = [];
    const end = new PassThrough().on('data', (piece: Buffer) => pieces.push(piece.toString()));
    return { end, text: () => pieces.join('') };
  }

  const LOST =
    /^event: message\nid: p1\.2\ndata: \{"jsonrpc":"2\.0","id":"q","error":\{"code":-32603,.*"reason":"reply_lost"\}\}\}\n\n$/u;

  it('sends an error in place of a reply that is longer than a stream keeps', async () => {
    const stream = new SessionStreams(account()).open('"q"');
    stream.attach(endOf().end);
    stream.send(message(1));
    stream.reply(message(KEPT_BYTES));
    const { end, text } = endOf();
    expect(stream.isOverAfter(1)).toBe(false);
    expect(stream.attach(end, 1)).toBe(true);
    await once(end, 'end');
    expect(text()).toMatch(LOST);
    expect([2, 3].map((after) => stream.isOverAfter(after))).toEqual([true, false]);
  });

  it('goes on when events that the client has missed are not kept, because the reply is still to come', async () => {
    const stream = new SessionStreams(account()).open('1');
    stream.attach(endOf().end);
    for (let count = 0; count < 5; count += 1) stream.send(message(400_000));
    const { end, text } = endOf();
    expect(stream.attach(end, 1)).toBe(true);
    stream.reply(Buffer.from('{"id":1}'));
    await once(end, 'end');
    expect(text().match(/id: p1\.\d+/gu)).toEqual(['id: p1.4', 'id: p1.5', 'id: p1.6']);
    expect(stream.attach(endOf().end, 7)).toBe(false);
  });
});

describe('SessionStreams', () => {
  async function ended(streams: SessionStreams, bytes: number): Promise<string> {
    const { res, client } = await connection();
    const stream = streams.open('1');
    stream.attach(res);
    stream.send(message(bytes));
    stream.end();
    (await client).resume();
    return stream.id;
  }

  it('limits the bytes kept for ended streams to those of one stream, newest first', async () => {
    const streams = new SessionStreams(account());
    const ids: string[] = [];
    for (let count = 0; count < 5; count += 1) ids.push(await ended(streams, 400_000));
    expect(ids.map((id) => streams.find(id) !== undefined)).toEqual([false, false, false, true, true]);
  });

  it('keeps a stream that is still open while others end', async () => {
    const streams = new SessionStreams(account());
    const running = streams.open('1');
    for (let count = 0; count < 40; count += 1) await ended(streams, 10);
    expect(streams.find(running.id)).toBe(running);
    expect(streams.find('p2')).toBeUndefined();
  });
});

describe('readEventId', () => {
  it.each([
    ['g.7', { stream: 'g', sequence: 7 }],
    ['p1a.0', { stream: 'p1a', sequence: 0 }],
    ['g', undefined],
    ['g.', undefined],
    ['__proto__.1', undefined],
    [`g.${'9'.repeat(11)}`, undefined],
  ])('parses %j', (text, expected) => {
    expect(readEventId(text)).toEqual(expected);
  });
});
