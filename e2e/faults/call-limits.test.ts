import { Agent, request } from 'undici';
import { expect, it } from 'vitest';
import { openSession, rpc, textOf } from '../harness/clients/raw.ts';
import { entry, gatewayOver } from '../harness/manifests.ts';
import { eventually } from '../harness/poll.ts';
import { testScope } from '../harness/scope.ts';
import { startVmcp } from '../harness/vmcp.ts';
import { openGet, openPost } from './event-stream.ts';
import { startMcpServer, type Exchange } from './mcp-server.ts';

const callOf = (id: number): object => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'bad_tool', arguments: {} },
});

async function setting() {
  const scope = testScope();
  const backend = await startMcpServer(scope, 'bad', { sessions: false });
  const vmcp = await startVmcp(scope, { files: gatewayOver([entry('bad', backend.url)]) });
  const session = await openSession(vmcp.url);
  await session.call('bad_tool');
  const held: Exchange[] = [];
  backend.intercept = (exchange) => {
    if (exchange.message.method !== 'tools/call') return false;
    held.push(exchange);
    return true;
  };
  return { backend, vmcp, session, held };
}

const cancelled = (backend: { received: readonly { message: { method?: string } }[] }): number =>
  backend.received.filter(({ message }) => message.method === 'notifications/cancelled').length;

it('cancels the call of a client that disconnects and cannot resume it', async () => {
  const { backend, vmcp, session, held } = await setting();
  const controller = new AbortController();
  const body = JSON.stringify(callOf(7));
  const answer = request(vmcp.url, { method: 'POST', headers: session.headers, body, signal: controller.signal });
  await eventually('the backend has the call', () => held.length === 1);
  controller.abort();
  await expect(answer).rejects.toThrow();
  await eventually('the backend has the cancellation', () => cancelled(backend) === 1);
});

it('keeps the call of a client whose stream broke and can be resumed', async () => {
  const { backend, vmcp, session, held } = await setting();
  const stream = openPost(vmcp.url, session, callOf(7));
  await eventually('the backend has the call', () => held.length === 1);
  held[0]?.send({ method: 'notifications/message', params: { level: 'info', data: 'working' } });
  const answer = await stream;
  await eventually('the client has an event', () => answer.messages.length === 1);
  const last = answer.lastEventId();
  answer.drop();
  await session.request('ping');
  expect(cancelled(backend)).toBe(0);
  const resumed = await openGet(vmcp.url, session, last);
  held[0]?.result({ content: [{ type: 'text', text: 'late' }] });
  await eventually('the reply arrives', () => JSON.stringify(resumed.messages).includes('late'));
});

it('runs 100 calls of a backend, queues 1,000 and rejects more with Retry-After', async () => {
  const { backend, vmcp, session, held } = await setting();
  const dispatcher = new Agent({ connections: 2_000 });
  const controller = new AbortController();
  const { signal } = controller;
  const send = (id: number) =>
    request(vmcp.url, {
      method: 'POST',
      headers: session.headers,
      body: rpc('tools/call', { name: 'bad_tool', arguments: {} }, id),
      dispatcher,
      signal,
    });
  const calls = Array.from({ length: 1_120 }, (_, index) => send(index + 10));
  const refused: { status: number; retryAfter: unknown; text: string }[] = [];
  for (const call of calls) {
    call
      .then(async ({ statusCode, headers, body }) => {
        refused.push({ status: statusCode, retryAfter: headers['retry-after'], text: await body.text() });
      })
      .catch(() => undefined);
  }
  await eventually('20 calls are rejected', () => refused.length >= 20);
  await eventually('100 calls run', () => held.length >= 100);
  expect([held.length, refused.length]).toEqual([100, 20]);
  for (const { status, retryAfter, text } of refused) {
    expect([status, retryAfter]).toEqual([200, '1']);
    expect(JSON.parse(text)).toMatchObject({ error: { data: { reason: 'over_budget', budget: 'queued_calls' } } });
  }
  expect((await session.request('ping')).result).toEqual({});
  controller.abort();
  backend.intercept = undefined;
  await eventually(
    'the places are free',
    async () => textOf(await session.call('bad_tool', { text: 'x' })) === 'tool x',
  );
  await eventually('the running calls are cancelled', () => cancelled(backend) >= 100);
  expect(held.length).toBe(100);
  await dispatcher.close();
});
