import type { ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { echoOf, eventText, startMcpServer, type Exchange } from '../../../../e2e/faults/mcp-server.ts';
import { eventually } from '../../../../e2e/harness/poll.ts';
import { testScope } from '../../../../e2e/harness/scope.ts';
import { createLog } from '../../../telemetry/log.ts';
import { callTool, ownerOf, textOf } from '../testdata/calls.ts';
import { failureOf } from '../testdata/failure-of.ts';
import { httpTransport } from './http-transport.ts';

/** Starts a server whose answers `answer` may give instead. */
async function start(answer: (exchange: Exchange) => boolean) {
  const server = await startMcpServer(testScope(), 'raw');
  server.intercept = answer;
  const transport = httpTransport({
    url: new URL(server.url),
    clientInfo: { name: 'test', version: '0' },
    headers: {},
    maxReplyBytes: 1_000_000,
    initTimeoutMs: 5_000,
    log: createLog(process.stderr, 'error'),
  });
  testScope().defer(() => transport.close());
  return { server, open: (owner = ownerOf('k')) => transport.open(owner, AbortSignal.timeout(10_000)) };
}

const replyText = ({ message }: Exchange, id: unknown = message.id): string =>
  JSON.stringify({ jsonrpc: '2.0', id, result: echoOf(message) });

const stream = (res: ServerResponse): ServerResponse => res.writeHead(200, { 'content-type': 'text/event-stream' });

/** Answers of servers that the SDKs read too. */
it.each<[string, (exchange: Exchange) => unknown]>([
  [
    'Content-Type twice',
    (exchange) =>
      exchange.res
        .writeHead(200, ['content-type', 'application/json', 'Content-Type', 'application/json'])
        .end(replyText(exchange)),
  ],
  [
    'Content-Type twice in one line',
    (exchange) =>
      exchange.res.writeHead(200, { 'content-type': 'application/json, application/json' }).end(replyText(exchange)),
  ],
  [
    'Content-Type of a stream twice',
    (exchange) =>
      exchange.res
        .writeHead(200, ['content-type', 'text/event-stream', 'content-type', 'text/event-stream'])
        .end(`data: ${replyText(exchange)}\n\n`),
  ],
  [
    'a byte order mark',
    (exchange) =>
      exchange.res.writeHead(200, { 'content-type': 'application/json' }).end(`\uFEFF${replyText(exchange)}`),
  ],
  [
    'its id as text',
    (exchange) => {
      const text = replyText(exchange, String(exchange.message.id));
      exchange.res.writeHead(200, { 'content-type': 'application/json' }).end(text);
    },
  ],
  [
    'its id as text in a stream',
    (exchange) => stream(exchange.res).end(`data: ${replyText(exchange, String(exchange.message.id))}\n\n`),
  ],
  [
    'its id as a fraction',
    (exchange) => {
      const text = replyText(exchange).replace(`"id":${String(exchange.message.id)}`, '$&.0');
      exchange.res.writeHead(200, { 'content-type': 'application/json' }).end(text);
    },
  ],
  [
    'events of other types, one with a reply',
    (exchange) => {
      const { id } = exchange.message;
      const wrong = JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'wrong' }] } });
      const events = [
        `event: ping\ndata: now\n\n`,
        `event: endpoint\ndata: /x\n\n`,
        `event: draft\ndata: ${wrong}\n\n`,
      ];
      stream(exchange.res).end(`${events.join('')}event: message\ndata: ${replyText(exchange)}\n\n`);
    },
  ],
  [
    'events that are not MCP',
    (exchange) => stream(exchange.res).end(`data: hello\n\ndata: {"id":1}\n\ndata: ${replyText(exchange)}\n\n`),
  ],
  [
    'the reply to another request before its own',
    (exchange) => stream(exchange.res).end(`data: ${replyText(exchange, 4_711)}\n\ndata: ${replyText(exchange)}\n\n`),
  ],
])('reads a reply with %s', async (_, answer) => {
  const { open } = await start((exchange) => {
    if (exchange.message.method !== 'tools/call') return false;
    answer(exchange);
    return true;
  });
  const channel = await open();
  expect(textOf(await callTool(channel, 'tool', { text: 'x' }))).toBe('tool x');
});

it('names the event that is not MCP when no reply follows', async () => {
  const { open } = await start(({ message, res }) => {
    if (message.method === 'tools/call') stream(res).end('data: oops\n\n');
    return message.method === 'tools/call';
  });
  const { failure } = await callTool(await open(), 'tool');
  expect(failure?.kind).toBe('garbage');
  expect(failure?.detail).toMatch(/ended before the reply, behind an event that is not MCP: unexpected byte/u);
});

it.each([
  ['twice', ['mcp-session-id', 's-1', 'Mcp-Session-Id', 's-1'], 's-1'],
  ['twice in one line', ['mcp-session-id', 's-1, s-1'], 's-1'],
  ['with a comma in it', ['mcp-session-id', 's,1'], 's,1'],
])('keeps a session id that is sent %s', async (_, header, session) => {
  const { server, open } = await start(({ message: { method, id }, res }) => {
    const result = { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'x', version: '1' } };
    if (method !== 'initialize') return false;
    res
      .writeHead(200, ['content-type', 'application/json', ...header])
      .end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    return true;
  });
  server.sessions.add(session);
  const channel = await open();
  expect(textOf(await callTool(channel, 'tool', { text: 'x' }))).toBe('tool x');
  expect(server.seen.at(-1)?.headers['mcp-session-id']).toBe(session);
});

it.each([400, 404, 405, 500, 501])('opens a backend that answers notifications/initialized with %i', async (status) => {
  const { server, open } = await start(({ message, res }) => {
    if (message.method !== 'notifications/initialized') return false;
    res.writeHead(status).end('no');
    return true;
  });
  const channel = await open();
  expect(channel.alive).toBe(true);
  expect(textOf(await callTool(channel, 'tool', { text: 'x' }))).toBe('tool x');
  expect(server.count('initialize')).toBe(1);
});

it('ignores events of other types on the stream of a session', async () => {
  const received: unknown[] = [];
  const { server, open } = await start(() => false);
  server.interceptGet = (_req, res) => {
    const listChanged = eventText({ method: 'notifications/tools/list_changed' });
    stream(res).write(`event: ping\ndata: {"jsonrpc":"2.0","method":"ping"}\n\n${listChanged}`);
    return true;
  };
  const channel = await open(ownerOf('k', { onMessage: (_, { method }) => void received.push(method) }));
  channel.listen();
  await eventually('the event is there', () => received.length > 0);
  expect(received).toEqual(['notifications/tools/list_changed']);
});

/** Refuses every revision except the given one. */
const onlySpeaks =
  (supported: readonly string[], status: number, offered: unknown[] = []) =>
  ({ message, res, error }: Exchange): boolean => {
    if (message.method !== 'initialize') return false;
    const requested = message.params?.['protocolVersion'];
    offered.push(requested);
    if (supported.includes(String(requested))) return false;
    res.statusCode = status;
    const refused = { code: -32602, message: 'Unsupported protocol version', data: { supported, requested } };
    if (status === 200) error(refused.code, refused.message, refused.data);
    else {
      const body = JSON.stringify({ jsonrpc: '2.0', id: message.id, error: refused });
      res.writeHead(status, { 'content-type': 'application/json' }).end(body);
    }
    return true;
  };

it.each([200, 400])('initializes again in the newest common revision that a refusal (%i) names', async (status) => {
  const offered: unknown[] = [];
  const { open } = await start(onlySpeaks(['2024-10-07', '2025-03-26', '2024-11-05'], status, offered));
  const channel = await open();
  expect(channel.facts.revision).toBe('2025-03-26');
  expect(offered).toEqual(['2025-11-25', '2025-03-26']);
  expect(textOf(await callTool(channel, 'tool', { text: 'x' }))).toBe('tool x');
});

it('names the revision of a backend that shares none', async () => {
  const { server, open } = await start(onlySpeaks(['2099-01-01'], 200));
  expect(await failureOf(open())).toMatchObject({
    kind: 'garbage',
    detail: 'the backend refused to initialize (code -32602): it supports revision "2099-01-01", not ours',
  });
  expect(server.count('initialize')).toBe(1);
});
