import { expect, it } from 'vitest';
import { startMcpServer, type Exchange, type McpServer, type ServerOptions } from '../../../e2e/faults/mcp-server.ts';
import { testScope } from '../../../e2e/harness/scope.ts';
import { createLog } from '../../telemetry/log.ts';
import type { Channel } from '../transport/channel.ts';
import { httpTransport } from '../transport/http/http-transport.ts';
import { ownerOf } from '../transport/testdata/calls.ts';
import { announces, BackendLists } from './backend-lists.ts';

const OPTIONS = { signal: new AbortController().signal, credential: undefined };

async function opened(options: ServerOptions = {}): Promise<{ server: McpServer; channel: Channel }> {
  const server = await startMcpServer(testScope(), 'raw', options);
  const transport = httpTransport({
    url: new URL(server.url),
    clientInfo: { name: 'test', version: '0' },
    headers: {},
    maxReplyBytes: 8 * 1024 * 1024,
    initTimeoutMs: 5_000,
    log: createLog(process.stderr, 'error'),
  });
  testScope().defer(() => transport.close());
  return { server, channel: await transport.open(ownerOf('k'), AbortSignal.timeout(10_000)) };
}

const namesOf = ({ catalog }: BackendLists) => catalog?.tools.map(({ key }) => key);

/** Answers the lists of tools with an error while `broken` is true. */
const broken = (server: McpServer, answer: (exchange: Exchange) => void) => {
  server.intercept = (exchange) => {
    if (exchange.message.method !== 'tools/list') return false;
    answer(exchange);
    return true;
  };
};

it.each<[string, (exchange: Exchange) => void, string]>([
  [
    'the error -32603',
    ({ error }) => {
      error(-32603, 'fetch failed');
    },
    'tools/list answers the error -32603',
  ],
  ['HTTP 500', ({ res }) => void res.writeHead(500).end(), 'it answers HTTP 500'],
  ['HTTP 429', ({ res }) => void res.writeHead(429).end(), 'it answers HTTP 429'],
])('keeps the tools of a backend that answers %s for them and answers a ping', async (_name, answer, flaw) => {
  const { server, channel } = await opened();
  const lists = new BackendLists();
  expect(await lists.read('raw', channel, 2_000, OPTIONS)).toBe(true);
  expect([namesOf(lists), lists.flaw, lists.retryMs]).toEqual([['tool'], undefined, undefined]);
  broken(server, answer);
  for (const retryMs of [1_000, 2_000, 4_000]) {
    expect(await lists.read('raw', channel, 2_000, OPTIONS)).toBe(false);
    expect([namesOf(lists), lists.flaw, lists.retryMs, lists.stale]).toEqual([['tool'], flaw, retryMs, true]);
  }
  expect(lists.warnings.map(({ reason }) => reason)).toEqual(['ListUnavailable']);
  server.intercept = undefined;
  server.tools = ['tool', 'new'];
  expect(await lists.read('raw', channel, 2_000, OPTIONS)).toBe(true);
  expect([namesOf(lists), lists.flaw, lists.retryMs, lists.stale, lists.warnings]).toEqual([
    ['tool', 'new'],
    undefined,
    undefined,
    false,
    [],
  ]);
});

it('fails for a backend that answers neither its lists nor a ping', async () => {
  const { server, channel } = await opened();
  const lists = new BackendLists();
  await lists.read('raw', channel, 2_000, OPTIONS);
  server.intercept = ({ res }) => {
    res.writeHead(503).end();
    return true;
  };
  await expect(lists.read('raw', channel, 2_000, OPTIONS)).rejects.toMatchObject({ failure: { kind: 'unavailable' } });
  expect(namesOf(lists)).toEqual(['tool']);
});

it('reads an empty list of tools again, with growing pauses of a minute at most', async () => {
  const { server, channel } = await opened();
  server.tools = [];
  const lists = new BackendLists();
  const pauses: (number | undefined)[] = [];
  for (let attempt = 0; attempt < 8; attempt += 1) {
    await lists.read('raw', channel, 2_000, OPTIONS);
    pauses.push(lists.retryMs);
  }
  expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  server.tools = ['late'];
  expect(await lists.read('raw', channel, 2_000, OPTIONS)).toBe(true);
  expect(lists.retryMs).toBeUndefined();
});

it.each<[string, ServerOptions, boolean]>([
  ['with a session, a stream and announcements', {}, true],
  ['without announcements', { capabilities: { tools: {} } }, false],
  ['without announcements of one list', { capabilities: { tools: { listChanged: true }, prompts: {} } }, false],
  ['without a stream', { getStatus: 405 }, false],
  ['without sessions', { sessions: false }, false],
])('finds out whether a backend announces changes: %s', async (_name, options, expected) => {
  const { server, channel } = await opened(options);
  expect(announces(channel)).toBe(false); // the stream is not open yet
  channel.listen();
  await expect.poll(() => server.seen.some(({ httpMethod }) => httpMethod === 'GET')).toBe(true);
  if (expected) await expect.poll(() => announces(channel)).toBe(true);
  else {
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(announces(channel)).toBe(false);
  }
});
