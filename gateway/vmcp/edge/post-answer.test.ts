import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { Envelope } from '../../http/json-scan.ts';
import { Account, createBudgets } from '../budgets/account.ts';
import { RESUME_WITHIN_MS } from '../budgets/limits.ts';
import type { Session } from '../session.ts';
import { PostAnswer } from './post-answer.ts';
import { SessionStreams } from './session-streams.ts';

const TEXT = 'é✓\u{1F600}';

/** Returns what a client receives of an answer. */
async function received(send: (answer: PostAnswer) => unknown): Promise<{ body: Buffer; length: number }> {
  const server = createServer((_req, res) => {
    send(new PostAnswer(res, Buffer.from('7'), undefined, () => undefined));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const response = await fetch(`http://127.0.0.1:${String((server.address() as AddressInfo).port)}`);
  return { body: Buffer.from(await response.arrayBuffer()), length: Number(response.headers.get('content-length')) };
}

it.each([4_095, 4_096, 4_097, 100_000])('sends every byte of a message of %i bytes', async (length) => {
  const message = Buffer.from(TEXT.padEnd(length - Buffer.byteLength(TEXT) + TEXT.length, '-'));
  expect(message).toHaveLength(length);
  expect(
    await received((answer) => {
      answer.reply(message);
    }),
  ).toEqual({ body: message, length });
});

it.each([10, 10_000])('sends every character of a result of %i', async (length) => {
  const result = JSON.stringify({ text: TEXT.padEnd(length, '-') });
  const { body } = await received((answer) => {
    answer.result(result);
  });
  expect(JSON.parse(body.toString())).toEqual({ jsonrpc: '2.0', id: 7, result: JSON.parse(result) as unknown });
});

it('refuses with the id of the request', async () => {
  const { body } = await received((answer) => answer.end({ kind: 'store_unavailable', message: 'the store is down' }));
  expect(JSON.parse(body.toString())).toMatchObject({ id: 7, error: { message: 'the store is down' } });
  const busy = await received((answer) =>
    answer.end({ kind: 'overloaded', message: 'too many calls', budget: 'calls' }),
  );
  expect(JSON.parse(busy.body.toString())).toMatchObject({ id: 7, error: { data: { budget: 'calls' } } });
});

it('gives a client that resumes its stream too late an error for the call, which was cancelled', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const streams = new SessionStreams(new Account('alice', createBudgets(), () => undefined));
  const lost = Object.assign(new PassThrough(), {
    socket: new PassThrough(),
    writeHead: () => undefined,
    flushHeaders: () => undefined,
  });
  const session = { streams, revision: '2025-06-18' } as Partial<Session> as Session;
  const answer = new PostAnswer(lost as object as ServerResponse, Buffer.from('7'), session, () => undefined);
  answer.message(Buffer.from('{}'), {} as Envelope);
  answer.watchClient({
    clientLeft: () => {
      answer.unwatchClient();
      answer.drop();
    },
  });
  lost.destroy();
  await once(lost, 'close');
  vi.advanceTimersByTime(RESUME_WITHIN_MS);
  const resumed = new PassThrough();
  expect(streams.find('p1')?.attach(resumed, 1)).toBe(true);
  const rest = await text(resumed);
  expect(rest).toMatch(
    /^event: message\nid: p1\.2\ndata: \{"jsonrpc":"2\.0","id":7,"error":\{"code":-32603,.*again"\}\}\n\n$/u,
  );
});
