import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CreateMessageRequestSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { answerWith } from '../../harness/backends/fetch.ts';
import { hostBackend } from '../../harness/backends/host.ts';
import { MCP_HEADERS, openSession, raw, rpc } from '../../harness/clients/raw.ts';
import { entry, gatewayOver, server } from '../../harness/manifests.ts';
import { eventually } from '../../harness/poll.ts';
import { testScope } from '../../harness/scope.ts';
import { root, startVmcp } from '../../harness/vmcp.ts';
import { messageOf } from './testdata/modern-request.ts';
import { newServer } from './testdata/new-server.ts';
import { TaskClient } from './testdata/task-client.ts';

const REVISION = '2026-07-28';

async function start(legacy: 'stateless' | 'reject') {
  const handler = createMcpHandler(newServer, { legacy });
  const seen: string[] = [];
  const backend = await hostBackend(testScope(), '/mcp', (req, res, body) => {
    seen.push(
      `${String(req.headers['mcp-protocol-version'])} ${String((body as { method?: string } | undefined)?.method)}`,
    );
    return answerWith(handler.fetch, req, res, body);
  });
  const config = { aggregation: { conflictResolution: 'none' } };
  const { url } = await startVmcp(testScope(), { files: gatewayOver([entry('new', backend.url)], config) });
  const session = await openSession(url);
  await eventually('the tools are listed', async () => (await session.tools()).includes('echo'));
  return { url, session, seen };
}

async function oldClient(url: string, capabilities = {}): Promise<OldClient> {
  const client = new OldClient({ name: 'old', version: '1.0.0' }, { capabilities });
  await client.connect(new OldTransport(new URL(url)));
  testScope().defer(() => client.close());
  return client;
}

/** Connects a client that answers questions of backends. */
async function answeringClient(url: string): Promise<OldClient> {
  const client = await oldClient(url, { elicitation: {}, sampling: {} });
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept' as const, content: { name: 'ann' } }));
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    model: 'm',
    role: 'assistant' as const,
    content: { type: 'text' as const, text: 'Berlin' },
  }));
  return client;
}

describe('a client with sessions over a backend without', () => {
  it('is served, and never sees members of the new revision', async () => {
    const { session, seen } = await start('reject');
    const list = await session.request('tools/list');
    expect(list.text).not.toMatch(/resultType|ttlMs|cacheScope/u);
    const reply = await session.call('echo', { text: 'hi' });
    expect(reply.result).toEqual({ content: [{ type: 'text', text: 'hi' }] });
    expect(seen.filter((each) => each.includes('tools/'))).toEqual(
      expect.arrayContaining([`${REVISION} tools/list`, `${REVISION} tools/call`]),
    );
  });

  it('is asked in mid call what the backend asks for by a result', async () => {
    const { url } = await start('reject');
    const client = await answeringClient(url);
    expect(await client.callTool({ name: 'ask', arguments: {} })).toMatchObject({ content: [{ text: 'hello ann' }] });
  });

  it('gets a typed error when it cannot answer', async () => {
    const { url } = await start('reject');
    const client = await oldClient(url);
    await expect(client.callTool({ name: 'ask', arguments: {} })).rejects.toThrow(/-3\d{4}/u);
  });
});

describe('a client without sessions', () => {
  it('gets the name of the gateway with a result of the TypeScript SDK, and no cache keeps the reply', async () => {
    const { url } = await start('reject');
    const { headers, body } = await raw(url, messageOf('tools/call', { name: 'echo', arguments: { text: 'hi' } }, {}));
    expect(headers['cache-control']).toBe('private, no-store');
    expect(JSON.parse(body)).toMatchObject({
      result: {
        content: [{ type: 'text', text: 'hi' }],
        resultType: 'complete',
        _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'vmcp' } },
      },
    });
  });
});

it('speaks to a backend of both eras in the era of the client', async () => {
  const { url, session, seen } = await start('stateless');
  seen.length = 0;
  await session.call('echo', { text: 'old' });
  expect(seen.filter((each) => each.endsWith('tools/call'))).toEqual(['2025-11-25 tools/call']);
  const meta = {
    'io.modelcontextprotocol/protocolVersion': REVISION,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const headers = { ...MCP_HEADERS, 'mcp-protocol-version': REVISION, 'mcp-method': 'tools/call', 'mcp-name': 'echo' };
  const params = { name: 'echo', arguments: { text: 'new' }, _meta: meta };
  expect((await raw(url, { method: 'POST', headers, body: rpc('tools/call', params) })).status).toBe(200);
  expect(seen.filter((each) => each.endsWith('tools/call'))).toEqual([
    '2025-11-25 tools/call',
    `${REVISION} tools/call`,
  ]);
});

/** Starts a gateway over a process that runs this file of testdata, and waits until one of its tools is listed. */
async function startOverProcess(file: string, tool: string) {
  const backend = server('new', 'npx://jiti', { args: [join(root, 'e2e/scenarios/modern/testdata', file)] });
  const config = { aggregation: { conflictResolution: 'none' } };
  const { url } = await startVmcp(testScope(), { files: gatewayOver([backend], config) });
  const session = await openSession(url);
  await eventually('the tools are listed', async () => (await session.tools()).includes(tool));
  return { url, session };
}

describe('a process of the new revision', () => {
  it('runs tasks: they end, ask for input, are cancelled and are watched', async () => {
    const { url } = await startOverProcess('serve-tasks-stdio.ts', 'slow_compute');
    const client = new TaskClient(url);
    const computed = await client.start('slow_compute', { seconds: 0.1, label: 'x' });
    expect(await client.when(computed, 'completed')).toMatchObject({ result: { content: [{ text: 'computed x' }] } });
    const asking = await client.start('multi_input');
    await client.when(asking, 'input_required');
    const accepted = { action: 'accept', content: { name: 'bob' } };
    await client.request('tasks/update', { taskId: asking, inputResponses: { first: accepted, second: accepted } });
    expect(await client.when(asking, 'completed')).toMatchObject({ result: { content: [{ text: /bob/u }] } });
    const [long, other] = [
      await client.start('slow_compute', { seconds: 60, label: 'y' }),
      await client.start('slow_compute', { seconds: 60, label: 'z' }),
    ];
    const watching = await client.listen(testScope(), [long]);
    await eventually('the stream is open', () => watching.messages[0], { timeoutMs: 5_000 });
    expect(watching.messages[0]).toMatchObject({ params: { notifications: { taskIds: [long] } } });
    for (const taskId of [other, long])
      expect((await client.request('tasks/cancel', { taskId })).error).toBeUndefined();
    expect(await client.when(long, 'cancelled')).toMatchObject({ taskId: long });
    await eventually('the change arrives', () => watching.messages.length > 1);
    expect(watching.messages.slice(1)).toMatchObject([{ params: { taskId: long, status: 'cancelled' } }]);
    expect(watching.isOver).toBe(false);
  });

  it('is spoken to without a session, for clients of both eras', async () => {
    const { url, session } = await startOverProcess('serve-stdio.ts', 'echo');
    expect((await session.call('echo', { text: 'hi' })).result).toEqual({ content: [{ type: 'text', text: 'hi' }] });
    const client = await answeringClient(url);
    expect(await client.callTool({ name: 'ask', arguments: {} })).toMatchObject({ content: [{ text: 'hello ann' }] });
  });
});
