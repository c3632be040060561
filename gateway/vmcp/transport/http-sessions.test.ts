import { expect, it } from 'vitest';
import { startMcpServer, type ServerOptions } from '../../../e2e/faults/mcp-server.ts';
import { eventually } from '../../../e2e/harness/poll.ts';
import { testScope } from '../../../e2e/harness/scope.ts';
import { createLog } from '../../telemetry/log.ts';
import { httpTransport } from './http.ts';
import { callTool, ownerOf, startCall, textOf, toolParams } from './testdata/calls.ts';

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

it.each([404, 400])('a begun stream that is gone on with and meets %i is no request to send again', async (status) => {
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

it('a request that meets 404 at once may be sent again', async () => {
  const { server, channel } = await open();
  server.sessions.clear();
  expect((await callTool(channel, 'tool')).failure).toMatchObject({ kind: 'session_lost' });
  expect(channel.alive).toBe(false);
});

it('a header that the gateway sets is not taken from a client, others are', async () => {
  const { server, channel } = await open();
  const headers = { 'x-key': 'of the client', 'x-other': 'of the client' };
  const params = toolParams('tool', { text: 'x' });
  expect(textOf(await startCall(channel, { method: 'tools/call', params, headers }).outcome)).toBe('tool x');
  const seen = server.seen.find(({ method }) => method === 'tools/call')?.headers;
  expect([seen?.['x-key'], seen?.['x-other']]).toEqual(['of the gateway', 'of the client']);
});

it('what was sent before the end of the session arrives before it', async () => {
  const { server, channel } = await open({ methods: { 'tools/call': () => undefined } });
  const calls = Array.from({ length: 20 }, () => startCall(channel, { method: 'tools/call' }));
  await eventually('all are there', () => server.count('tools/call') === 20);
  for (const { handle } of calls) handle.cancel('enough');
  await channel.close();
  const order = server.seen.slice(-21).map(({ httpMethod, method }) => method ?? httpMethod);
  expect(order).toEqual([...Array.from({ length: 20 }, () => 'notifications/cancelled'), 'DELETE']);
});

it.each([408, 429, 503])('a stream that is refused with %i once is asked for again', async (status) => {
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
