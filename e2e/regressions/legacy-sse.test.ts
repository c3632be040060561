import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import { startHttpBackend } from '../harness/backends/http.ts';
import { raw } from '../harness/clients/raw.ts';
import { entry } from '../harness/manifests.ts';
import { eventually } from '../harness/poll.ts';
import { testScope } from '../harness/scope.ts';
import type { Vmcp } from '../harness/vmcp.ts';
import { openExchange } from '../faults/event-stream.ts';
import { argumentOf, echoOf } from '../faults/mcp-server.ts';
import { gateway, gatewayOverOne, notify, rarely } from './gateway.ts';

async function connect({ origin }: Vmcp, name: string): Promise<Client> {
  const client = new Client({ name, version: '1.0.0' });
  await client.connect(new SSEClientTransport(new URL(`${origin}/sse`)));
  testScope().defer(() => client.close());
  return client;
}

const sessionsOf = async ({ management }: Vmcp): Promise<unknown> =>
  (JSON.parse((await raw(`${management}/status`)).body) as { sessions: number }).sessions;

const textOf = (result: unknown): unknown => (result as { content: { text?: string }[] }).content[0]?.text;

describe('a client of 2024-11-05 over HTTP+SSE', () => {
  it('lists, calls, reads, gets prompts and completes', async () => {
    const backend = await startHttpBackend(testScope(), 'sdk-1-stateful', 'shop');
    const vmcp = await gateway([entry('shop', backend.url)], { operational: rarely });
    const client = await connect(vmcp, 'old');
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('shop_echo');
    expect(textOf(await client.callTool({ name: 'shop_echo', arguments: { text: 'grüezi' } }))).toBe('grüezi');
    const { resources } = await client.listResources();
    const { contents } = await client.readResource({ uri: resources[0]?.uri ?? '' });
    expect(contents).toHaveLength(1);
    expect((await client.getPrompt({ name: 'shop_greet', arguments: { who: 'Ada' } })).messages).toHaveLength(1);
    const big = textOf(await client.callTool({ name: 'shop_big', arguments: { bytes: 1_000_000 } }));
    expect(String(big)).toHaveLength(1_000_000);
    await expect(client.callTool({ name: 'nobody_knows', arguments: {} })).rejects.toMatchObject({ code: -32602 });
  });

  it('gets progress, log messages and list changes', async () => {
    const { vmcp, backend } = await gatewayOverOne({
      capabilities: { tools: { listChanged: true }, logging: {} },
      methods: {
        'tools/call': ({ send, result, message }) => {
          const { progressToken } = message.params!['_meta'] as { progressToken: unknown };
          for (const progress of [1, 2]) send(notify('notifications/progress', { progressToken, progress }));
          // the client of the SDK drops progress that it reads after the reply
          setTimeout(() => {
            result(echoOf(message));
          }, 100);
        },
      },
    });
    const client = await connect(vmcp, 'old');
    await client.listTools();
    const seen: number[] = [];
    const options = { onprogress: ({ progress }: { progress: number }) => void seen.push(progress) };
    const result = await client.callTool({ name: 'one_tool', arguments: { text: 'x' } }, undefined, options);
    expect([textOf(result), seen]).toEqual(['tool x', [1, 2]]);
    let changes = 0;
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void (changes += 1));
    backend.tools = ['tool', 'new'];
    backend.notify('notifications/tools/list_changed');
    await eventually('the client is notified', () => changes > 0);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['one_new', 'one_tool']);
  });

  it('gets its own answers while another client uses the same ids', async () => {
    const { vmcp } = await gatewayOverOne({
      methods: {
        'tools/call': (exchange) => {
          setTimeout(
            () => {
              exchange.result(echoOf(exchange.message));
            },
            Number(argumentOf(exchange.message.params, 'ms')),
          );
        },
      },
    });
    const clients = [await connect(vmcp, 'a'), await connect(vmcp, 'b')];
    const answers = await Promise.all(
      clients.flatMap((client, who) =>
        Array.from({ length: 20 }, (_, n) =>
          client.callTool({ name: 'one_tool', arguments: { text: `${who} ${n}`, ms: (n * 37 + who * 11) % 100 } }),
        ),
      ),
    );
    expect(answers.map(textOf)).toEqual(
      clients.flatMap((_, who) => Array.from({ length: 20 }, (_, n) => `tool ${who} ${n}`)),
    );
  });

  it('ends its session and its calls when it disconnects', async () => {
    const { vmcp, backend } = await gatewayOverOne({ methods: { 'tools/call': () => undefined } });
    const client = await connect(vmcp, 'old');
    const call = client.callTool({ name: 'one_tool', arguments: {} }).catch(() => 'cut');
    await eventually('the backend has the call', () => backend.count('tools/call') === 1);
    expect(await sessionsOf(vmcp)).toBe(1);
    await client.close();
    expect(await call).toBe('cut');
    await eventually('the session has ended', async () => (await sessionsOf(vmcp)) === 0);
    await eventually('the backend received the cancellation', () =>
      backend.received.some(({ message }) => message.method === 'notifications/cancelled'),
    );
    await eventually('its session at the backend has ended', () => backend.sessions.size === 1);
  });

  it('is rejected with invalid JSON, an unknown session or a large body, and the gateway keeps serving', async () => {
    const { vmcp } = await gatewayOverOne();
    const stream = await openExchange(`${vmcp.origin}/sse`, { method: 'GET', headers: { accept: 'text/event-stream' } })
      .then(() => 'open')
      .catch((error: unknown) => error);
    expect(stream).toBe('open');
    const post = (path: string, body: string, type = 'application/json') =>
      raw(`${vmcp.origin}${path}`, { method: 'POST', headers: { 'content-type': type }, body });
    const client = await connect(vmcp, 'old');
    const endpoint = messagesPath(client);
    expect((await post(`${endpoint.split('?')[0] ?? ''}?sessionId=unknown`, '{}')).status).toBe(404);
    for (const body of ['{', '[]', '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', '7']) {
      expect((await post(endpoint, body)).status).toBe(400);
    }
    expect((await post(endpoint, '{"jsonrpc":"2.0","id":9,"method":"ping"}', 'text/plain')).status).toBe(415);
    expect((await post(endpoint, `"${'x'.repeat(9 * 1024 * 1024)}"`)).status).toBe(413);
    expect(textOf(await client.callTool({ name: 'one_tool', arguments: { text: 'on' } }))).toBe('tool on');
  });
});

/** Returns the path of the messages endpoint from the stream. */
function messagesPath({ transport }: Client): string {
  const endpoint: unknown = transport && Reflect.get(transport, '_endpoint');
  if (!(endpoint instanceof URL)) throw new Error('the client has no endpoint');
  return endpoint.pathname + endpoint.search;
}
