import { setTimeout as sleep } from 'node:timers/promises';
import * as zlib from 'node:zlib';
import { expect, it } from 'vitest';
import { echoOf, eventText, startMcpServer, type Exchange } from '../../../../e2e/faults/mcp-server.ts';
import { eventually } from '../../../../e2e/harness/poll.ts';
import { testScope } from '../../../../e2e/harness/scope.ts';
import { createLog } from '../../../telemetry/log.ts';
import { callTool, ownerOf, textOf } from '../testdata/calls.ts';
import { httpTransport } from './http-transport.ts';

const MAX_REPLY_BYTES = 1_000_000;

/** Opens a channel; `received` has the methods of the messages that belong to no call. */
async function open(answer: (exchange: Exchange) => unknown = () => undefined) {
  const server = await startMcpServer(testScope(), 'raw');
  const transport = httpTransport({
    url: new URL(server.url),
    clientInfo: { name: 'test', version: '0' },
    headers: {},
    maxReplyBytes: MAX_REPLY_BYTES,
    initTimeoutMs: 5_000,
    log: createLog(process.stderr, 'error'),
  });
  testScope().defer(() => transport.close());
  const received: unknown[] = [];
  const owner = ownerOf('k', { onMessage: (_, { method }) => void received.push(method) });
  const channel = await transport.open(owner, AbortSignal.timeout(10_000));
  server.intercept = (exchange) => {
    if (exchange.message.method !== 'tools/call') return false;
    answer(exchange);
    return true;
  };
  return { server, channel, received };
}

const JSON_TYPE = { 'content-type': 'application/json' };
const STREAM_TYPE = { 'content-type': 'text/event-stream' };

const CODINGS: readonly [string, (text: string) => Buffer][] = [
  ['gzip', zlib.gzipSync],
  ['X-GZip', zlib.gzipSync],
  ['deflate', zlib.deflateSync],
  ['deflate', zlib.deflateRawSync],
  ['br', zlib.brotliCompressSync],
  ['zstd', zlib.zstdCompressSync],
  ['identity', Buffer.from],
  ['gzip', Buffer.from], // plain in spite of its header
];

const replyOf = ({ message }: Exchange, length = 0): object => ({
  jsonrpc: '2.0',
  id: message.id,
  result: { ...echoOf(message), padding: 'x'.repeat(length) },
});

it.each(CODINGS)('reads a reply, a long reply and a stream in the coding %s', async (coding, pack) => {
  const head = { 'content-encoding': coding };
  let form = 0;
  const { server, channel } = await open((exchange) => {
    form += 1;
    const { res } = exchange;
    const reply = replyOf(exchange, form === 2 ? 600_000 : 0);
    if (form < 3) res.writeHead(200, { ...JSON_TYPE, ...head }).end(pack(JSON.stringify(reply)));
    else res.writeHead(200, { ...STREAM_TYPE, ...head }).end(pack(`data: ${JSON.stringify(reply)}\n\n`));
  });
  for (let call = 0; call < 3; call += 1) {
    const outcome = await callTool(channel, 'tool', { text: 'x' });
    expect(outcome.failure).toBeUndefined();
    expect(textOf(outcome)).toBe('tool x');
  }
  const accepted = new Set(server.seen.map(({ headers }) => headers['accept-encoding']));
  expect([...accepted]).toEqual([
    expect.stringMatching(/^identity, zstd;q=0.5, br;q=0.5, gzip;q=0.5, deflate;q=0.5$/u),
  ]);
});

it('reads each event of a compressed stream when it arrives', async () => {
  const { server, channel, received } = await open(async (exchange) => {
    const { res, message } = exchange;
    const gzip = zlib.createGzip();
    gzip.pipe(res.writeHead(200, { ...STREAM_TYPE, 'content-encoding': 'gzip' }));
    gzip.write(eventText({ method: 'notifications/message', params: {} }));
    gzip.flush();
    await eventually('the message arrives', () => messages.length === 1);
    gzip.end(eventText({ id: message.id ?? 0, result: echoOf(message) }));
  });
  const messages: unknown[] = [];
  server.interceptGet = (_req, res) => {
    const br = zlib.createBrotliCompress();
    br.pipe(res.writeHead(200, { ...STREAM_TYPE, 'content-encoding': 'br' }));
    br.write(eventText({ method: 'notifications/tools/list_changed' }));
    br.flush();
    return true;
  };
  channel.listen();
  await eventually('the stream is read', () => received.length === 1);
  expect(received).toEqual(['notifications/tools/list_changed']);
  const reply = await new Promise<string>((resolve, reject) => {
    channel.request(
      { method: 'tools/call', params: Buffer.from('{"name":"tool"}'), id: Buffer.from('1'), timeoutMs: 5_000 },
      {
        message: (text) => messages.push(text),
        reply: (text) => {
          resolve(text.toString());
        },
        fail: ({ detail }) => {
          reject(new Error(detail));
        },
      },
    );
  });
  expect(reply).toContain('"id":1');
});

const BOMB = Buffer.alloc(64 * MAX_REPLY_BYTES, 0x20);
const VALID = Buffer.from('{"jsonrpc":"2.0","id":2,"result":{}}');

it.each<[string, string, Buffer, object]>([
  ['a gzip bomb', 'gzip', zlib.gzipSync(BOMB), { kind: 'too_large' }],
  ['a Brotli bomb', 'br', zlib.brotliCompressSync(BOMB), { kind: 'too_large' }],
  ['half a gzip body', 'gzip', zlib.gzipSync(VALID).subarray(0, 20), { kind: 'garbage', detail: /not valid gzip/u }],
  ['no Brotli', 'br', VALID, { kind: 'garbage', detail: /not valid br/u }],
  ['an unknown coding', 'compress', VALID, { kind: 'garbage', detail: /"compress" cannot be decoded/u }],
  ['two codings', 'gzip, br', VALID, { kind: 'garbage', detail: /"gzip, br" cannot be decoded/u }],
])('fails only the call that is answered with %s', async (_, coding, body, failure) => {
  const { server, channel } = await open(({ res }) => {
    res.writeHead(200, { ...JSON_TYPE, 'content-encoding': coding }).end(body);
  });
  const before = process.memoryUsage().rss;
  const { kind, detail } = failure as { kind: string; detail?: RegExp };
  const outcome = await callTool(channel, 'tool');
  expect(outcome.failure?.kind).toBe(kind);
  if (detail) expect(outcome.failure?.detail).toMatch(detail);
  expect(process.memoryUsage().rss - before).toBeLessThan(48 * 1024 * 1024);
  server.intercept = undefined;
  expect(textOf(await callTool(channel, 'tool', { text: 'again' }))).toBe('tool again');
});

it('stops a decoder when its call is cancelled', async () => {
  const { channel } = await open(({ res }) => {
    res.writeHead(200, { ...JSON_TYPE, 'content-encoding': 'gzip' }).write(zlib.gzipSync(VALID).subarray(0, 12));
  });
  const failed = Promise.withResolvers<string>();
  const handle = channel.request(
    { method: 'tools/call', params: undefined, id: Buffer.from('1'), timeoutMs: 5_000 },
    {
      reply: () => undefined,
      message: () => undefined,
      fail: ({ kind }) => {
        failed.resolve(kind);
      },
    },
  );
  await sleep(50);
  handle.cancel('enough');
  expect(await failed.promise).toBe('cancelled');
});
