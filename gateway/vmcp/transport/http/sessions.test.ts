import { expect, it } from 'vitest';
import { startMcpServer, type ServerOptions } from '../../../../e2e/faults/mcp-server.ts';
import { eventually } from '../../../../e2e/harness/poll.ts';
import { testScope } from '../../../../e2e/harness/scope.ts';
import { createLog } from '../../../telemetry/log.ts';
import { httpTransport } from './http-transport.ts';
import { callTool, ownerOf, startCall, textOf, toolParams } from '../testdata/calls.ts';

async function open(options: ServerOptions = {}) {
  const server = await startMcpServer(testScope(), 'raw', options);
  const transport = httpTransport({
    url: new URL(server.url),
    clientInfo: { name: 'test', version: '0' },
    headers: { 'x-key': 'of the gateway' },
    maxReplyBytes: 1_000_000,
    initTimeoutMs: 5_000,
    log: createLog(process.stderr, 'error'),
  });
  testScope().defer(() => transport.close());
  return { server, channel: await transport.open(ownerOf('k'), AbortSignal.timeout(10_000)) };
}

it.each([404, 400])('does not repeat a request whose resumed stream is answered with %i', async (status) => {
  const { server, channel } = await open({ getStatus: status });
  server.intercept = ({ message, res }) => {
    if (message.method !== 'tools/call') return false;
    res.writeHead(200, { 'content-type': 'text/event-stream' }).end('id: e1\nretry: 0\ndata: \n\n');
    return true;
  };
  const { failure } = await callTool(channel, 'tool');
  expect(failure).toMatchObject({ kind: 'unavailable' });
  expect({ alive: channel.alive, calls: server.count('tools/call') }).toEqual({ alive: false, calls: 1 });
});

it('may repeat a request that is answered with 404 at once', async () => {
  const { server, channel } = await open();
  server.sessions.clear();
  expect((await callTool(channel, 'tool')).failure).toMatchObject({ kind: 'session_lost' });
  expect(channel.alive).toBe(false);
});

const error = (id: unknown, code: number) => ({ id, error: { code, message: 'Session not found' } });

/** @see MCP 2025-11-25, basic/transports, Session Management */
it.each([
  ['an error of its own that carries our id', (id: unknown) => error(id, -32001)],
  ['an unknown method', (id: unknown) => error(id, -32601)],
  ['an error without an id', () => error(null, -32001)],
  ['a result', (id: unknown) => ({ id, result: { content: [] } })],
])('treats a 404 as a lost session although its body is %s', async (_name, body) => {
  const { server, channel } = await open();
  server.intercept = ({ message, res }) => {
    if (message.method !== 'tools/call') return false;
    res.writeHead(404, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ jsonrpc: '2.0', ...body(message.id) }));
    return true;
  };
  expect((await callTool(channel, 'tool')).failure).toMatchObject({ kind: 'session_lost' });
  expect(channel.alive).toBe(false);
});

/** Bodies of SDK examples and servers for a session that they do not know. */
it.each<[number, string, (id: unknown) => object]>([
  [400, 'our id', (id) => ({ id, error: { code: -32000, message: 'Bad Request: No valid session ID provided' } })],
  [400, 'our id as text', (id) => ({ id: String(id), error: { code: -32600, message: 'Invalid Session' } })],
  [400, 'another wording', (id) => ({ id, error: { code: -32000, message: 'Bad Request: Server not initialized' } })],
  [400, 'no id', () => ({ id: null, error: { code: -32000, message: 'Bad Request' } })],
  [
    400,
    'another id',
    () => ({ id: 'server-error', error: { code: -32600, message: 'Bad Request: Missing session ID' } }),
  ],
  [409, 'our id', (id) => error(id, -32000)],
  [410, 'our id', (id) => ({ id, error: { code: -32000, message: 'Gone' } })],
])('treats a %i whose error has %s as a lost session, once', async (status, _name, body) => {
  const { server, channel } = await open();
  server.intercept = ({ message, res }) => {
    if (message.method !== 'tools/call') return false;
    res.writeHead(status, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ jsonrpc: '2.0', ...body(message.id) }));
    return true;
  };
  const again = await startCall(channel, { method: 'tools/call', repeated: true }).outcome;
  expect(again.reply).toMatchObject({ id: 'client-1', error: { code: expect.any(Number) as number } });
  expect(channel.alive).toBe(true);
  expect((await callTool(channel, 'tool')).failure).toMatchObject({ kind: 'session_lost' });
  expect(channel.alive).toBe(false);
});

it.each([409, 410])('treats a %i without a body as a lost session', async (status) => {
  const { server, channel } = await open();
  server.intercept = ({ res }) => {
    res.writeHead(status, { 'content-type': 'text/plain' }).end('Session terminated');
    return true;
  };
  expect((await callTool(channel, 'tool')).failure).toMatchObject({ kind: 'session_lost' });
});

it.each<[string, (id: unknown) => object]>([
  ['arguments', (id) => ({ id, error: { code: -32602, message: 'argument "session" is missing', data: [1.0] } })],
  ['the tool', (id) => ({ id, error: { code: -32000, message: 'the database is closed' } })],
  ['an unknown method, without an id', () => ({ id: null, error: { code: -32601, message: 'Method not found' } })],
])('forwards the error of a 400 about %s', async (_name, body) => {
  const { server, channel } = await open();
  server.intercept = ({ message, res }) => {
    if (message.method !== 'tools/call') return false;
    res.writeHead(400, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ jsonrpc: '2.0', ...body(message.id) }));
    return true;
  };
  expect((await callTool(channel, 'tool')).reply).toEqual({ jsonrpc: '2.0', ...body(0), id: 'client-1' });
  expect(channel.alive).toBe(true);
});

it('treats a 404 without a session according to its body', async () => {
  const { server, channel } = await open({ sessions: false });
  let body = (id: unknown): object => error(id, -32001);
  server.intercept = ({ message, res }) => {
    if (message.method !== 'tools/call') return false;
    res.writeHead(404, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ jsonrpc: '2.0', ...body(message.id) }));
    return true;
  };
  expect((await callTool(channel, 'tool')).reply).toMatchObject({ error: { code: -32001 } });
  body = () => error(null, -32001);
  expect((await callTool(channel, 'tool')).failure).toMatchObject({ kind: 'refused' });
  expect(channel.alive).toBe(true);
});

it('reports an unknown method when the repeated request is answered with 404 too', async () => {
  const { server, channel } = await open();
  server.intercept = ({ message, res }) => {
    if (message.method !== 'completion/complete') return false;
    res.writeHead(404, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ jsonrpc: '2.0', ...error(message.id, -32601) }));
    return true;
  };
  const { outcome } = startCall(channel, { method: 'completion/complete', repeated: true });
  expect((await outcome).reply).toMatchObject({ error: { code: -32601 } });
  expect(channel.alive).toBe(true);
});

it('treats a 404 to a notification as a lost session, and still closes the channel', async () => {
  const { server, channel } = await open();
  server.sessions.clear();
  channel.send(Buffer.from('{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}'));
  await eventually('the session is lost', () => !channel.alive);
  await channel.close();
});

it.each([400, 404, 410])('treats a %i to a stream that was open before as a lost session', async (status) => {
  const { server, channel } = await open();
  channel.listen();
  await eventually('the stream is open', () => server.streams.size === 1);
  server.interceptGet = (_req, res) => {
    res.writeHead(status).end();
    return true;
  };
  for (const stream of server.streams.values()) stream.end();
  await eventually('the session is lost', () => !channel.alive, { timeoutMs: 10_000 });
});

it('treats a 404 to the first GET as a backend without a stream', async () => {
  const { server, channel } = await open({ getStatus: 404 });
  channel.listen();
  await eventually('the stream is refused', () => server.seen.some(({ httpMethod }) => httpMethod === 'GET'));
  expect(textOf(await callTool(channel, 'tool', { text: 'x' }))).toBe('tool x');
  expect(channel.alive).toBe(true);
});

it('forwards headers of a client except those that the gateway sets', async () => {
  const { server, channel } = await open();
  const headers = { 'x-key': 'of the client', 'x-other': 'of the client' };
  const params = toolParams('tool', { text: 'x' });
  expect(textOf(await startCall(channel, { method: 'tools/call', params, headers }).outcome)).toBe('tool x');
  const seen = server.seen.find(({ method }) => method === 'tools/call')?.headers;
  expect([seen?.['x-key'], seen?.['x-other']]).toEqual(['of the gateway', 'of the client']);
});

it('sends earlier messages before the end of the session', async () => {
  const { server, channel } = await open({ methods: { 'tools/call': () => undefined } });
  const calls = Array.from({ length: 20 }, () => startCall(channel, { method: 'tools/call' }));
  await eventually('all are there', () => server.count('tools/call') === 20);
  for (const { handle } of calls) handle.cancel('enough');
  await channel.close();
  const order = server.seen.slice(-21).map(({ httpMethod, method }) => method ?? httpMethod);
  expect(order).toEqual([...Array.from({ length: 20 }, () => 'notifications/cancelled'), 'DELETE']);
});

it.each([408, 429, 503])('opens a stream again that was rejected with %i', async (status) => {
  const { server, channel } = await open();
  let refused = 0;
  server.interceptGet = (_req, res) => {
    if (refused > 0) return false;
    refused += 1;
    res.writeHead(status).end();
    return true;
  };
  channel.listen();
  await eventually('the stream is open', () => server.streams.size === 1, { timeoutMs: 10_000 });
  expect(refused).toBe(1);
  await channel.close();
});
