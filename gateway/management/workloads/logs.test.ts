import { once, setMaxListeners } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import type { ManagementApiOptions } from '../management-api.ts';
import { startManagementServer } from '../testdata/management-server.ts';
import { inMemoryWorkloads, workloadOf, type LineSource } from './testdata/in-memory-workloads.ts';

/** Starts the API with one workload and follows its logs with a real client. */
async function follow(source: LineSource, accept = '*/*', options: Partial<ManagementApiOptions> = {}) {
  const workloads = inMemoryWorkloads([workloadOf({ name: 'known' })], { follow: source });
  const { base } = await startManagementServer({ workloads: () => workloads, ...options });
  const reply = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = get(
      `${base}/api/v1beta/workloads/known/logs?follow=true`,
      { headers: { accept }, agent: false },
      resolve,
    );
    request.on('error', reject);
  });
  onTestFinished(() => void reply.destroy());
  reply.on('error', () => undefined);
  return reply;
}

async function textOf(reply: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of reply.setEncoding('utf8')) text += String(chunk);
  return text;
}

/** Yields lines that a test adds, until the signal is aborted. */
function liveLines(initial: readonly string[]) {
  const queue = [...initial];
  const added = new EventTarget();
  setMaxListeners(0, added);
  const state = { ended: false, started: false };
  const source: LineSource = async function* (signal) {
    state.started = true;
    while (!signal.aborted) {
      const line = queue.shift();
      if (line !== undefined) yield line;
      else await Promise.race([signal, added].map((target) => once(target, target === signal ? 'abort' : 'added')));
    }
    state.ended = true;
  };
  const add = (line: string): void => {
    queue.push(line);
    added.dispatchEvent(new Event('added'));
  };
  return { source, add, state };
}

it('sends each line when it comes, as text without a length', async () => {
  const { source, add } = liveLines(['one']);
  const reply = await follow(source);
  expect(reply.headers).toMatchObject({ 'content-type': 'text/plain; charset=utf-8', 'transfer-encoding': 'chunked' });
  let text = '';
  reply.setEncoding('utf8').on('data', (chunk) => (text += String(chunk)));
  await expect.poll(() => text).toBe('one\n');
  add('two');
  await expect.poll(() => text).toBe('one\ntwo\n');
});

it('sends server-sent events to a client that accepts them', async () => {
  const source: LineSource = async function* () {
    yield 'one';
    yield 'half\rother half';
    yield '';
  };
  const reply = await follow(source, 'text/event-stream');
  expect(reply.headers['content-type']).toBe('text/event-stream');
  expect(await textOf(reply)).toBe('data: one\n\ndata: half\ndata: other half\n\ndata: \n\n');
});

it('sends text to a client that prefers it', async () => {
  const source: LineSource = async function* () {
    yield 'one';
  };
  expect(await textOf(await follow(source, 'text/plain, text/event-stream;q=0.5'))).toBe('one\n');
});

it('answers before the first line', async () => {
  const { source } = liveLines([]);
  expect((await follow(source)).statusCode).toBe(200);
});

it('stops following when the client leaves', async () => {
  const { source, state } = liveLines(['one']);
  const reply = await follow(source);
  await expect.poll(() => state.started).toBe(true);
  reply.destroy();
  await expect.poll(() => state.ended).toBe(true);
});

it('completes the stream when the process drains', async () => {
  const { source, state } = liveLines(['one']);
  const drain = new AbortController();
  const reply = await follow(source, '*/*', { draining: drain.signal });
  const text = textOf(reply);
  await expect.poll(() => state.started).toBe(true);
  drain.abort();
  expect([await text, reply.complete]).toEqual(['one\n', true]);
});

it('cuts the stream when the log fails', async () => {
  const source: LineSource = async function* () {
    yield 'one';
    throw new Error('the disk failed');
  };
  const errors: unknown[] = [];
  const silent = (): void => undefined;
  const log = { error: (message: string) => errors.push(message), warn: silent, info: silent, debug: silent } as never;
  const reply = await follow(source, '*/*', { log });
  await expect(textOf(reply)).rejects.toThrow('aborted');
  expect(errors).toEqual(['request failed unexpectedly']);
});

it('reads on only when a slow client has read', async () => {
  const line = 'x'.repeat(64 * 1024);
  let read = 0;
  const source: LineSource = async function* (signal) {
    while (!signal.aborted) {
      read += 1;
      yield line;
    }
  };
  const reply = await follow(source);
  reply.pause();
  let before = -1;
  await expect
    .poll(async () => {
      before = read;
      await sleep(300);
      return read === before;
    })
    .toBe(true);
  // Buffers of the kernel on loopback hold some MiB.
  expect(read * line.length).toBeLessThan(64 * 1024 * 1024);
  const stalled = read;
  reply.resume();
  await expect.poll(() => read).toBeGreaterThan(stalled + 100);
});

it('answers 503 to a stream too many, and serves one again when another has ended', async () => {
  const { source } = liveLines(['one']);
  const workloads = inMemoryWorkloads([workloadOf({ name: 'known' })], { follow: source });
  const { base } = await startManagementServer({ workloads: () => workloads });
  const open = (): Promise<Response> => fetch(`${base}/api/v1beta/workloads/known/logs?follow=true`);
  const replies = await Promise.all(Array.from({ length: 64 }, open));
  expect(replies.every(({ status }) => status === 200)).toBe(true);
  const refused = await open();
  expect([refused.status, await refused.text()]).toEqual([503, expect.stringContaining('too many streams')]);
  await replies[0]?.body?.cancel();
  await expect.poll(async () => (await open()).status).toBe(200);
});
