import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { PostAnswer } from './post-answer.ts';

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
  const { body } = await received((answer) => answer.unavailable('the store is down'));
  expect(JSON.parse(body.toString())).toMatchObject({ id: 7, error: { message: 'the store is down' } });
  const busy = await received((answer) => answer.busy('too many calls', 'calls'));
  expect(JSON.parse(busy.body.toString())).toMatchObject({ id: 7, error: { data: { budget: 'calls' } } });
});
