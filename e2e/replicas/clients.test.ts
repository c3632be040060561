import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CreateMessageRequestSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { beforeAll, describe, expect, it } from 'vitest';
import { startSessionServer } from '../harness/backends/session-server.ts';
import { hasHaproxy } from '../harness/proxies/haproxy.ts';
import { hasRedis, startRedis } from '../harness/redis.ts';
import { startReplicas, sharedParts } from './replicas.ts';
import { blockScope, testScope } from '../harness/scope.ts';

const capabilities = { elicitation: {}, sampling: {} };
const FORM = { action: 'accept', content: { name: 'ann' } } as const;
const MESSAGE = { model: 'm', role: 'assistant', content: { type: 'text', text: 'Bern' } } as const;
const ROUNDS = 20;

describe.skipIf(!hasRedis || !hasHaproxy)('clients of three replicas without affinity', () => {
  const scope = blockScope();
  let url: URL;

  beforeAll(async () => {
    const [redis, backend] = await Promise.all([startRedis(scope), startSessionServer(scope)]);
    const replicas = await startReplicas(scope, sharedParts(redis, backend.url));
    url = new URL(replicas.url);
  });

  /** Calls the tools that ask the client in turn; the counter of the backend shows that they share one session. */
  async function rounds(call: (name: string) => Promise<unknown>): Promise<void> {
    for (let round = 1; round <= ROUNDS; round += 1) {
      expect(await call('ask')).toMatchObject({ content: [{ text: JSON.stringify(FORM) }] });
      expect(await call('sample')).toMatchObject({ content: [{ text: JSON.stringify(MESSAGE.content) }] });
      expect(await call('count')).toMatchObject({ content: [{ text: String(round) }] });
    }
  }

  it('of SDK 1.x are asked in mid call and keep their session', async () => {
    const client = new Client({ name: 'v1', version: '1' }, { capabilities });
    client.setRequestHandler(ElicitRequestSchema, () => FORM);
    client.setRequestHandler(CreateMessageRequestSchema, () => MESSAGE);
    await client.connect(new StreamableHTTPClientTransport(url));
    testScope().defer(() => client.close());
    await rounds((name) => client.callTool({ name, arguments: {} }));
  });

  it('of HTTP+SSE are asked in mid call and keep their session, two at the same time', async () => {
    const connect = async (name: string): Promise<Client> => {
      const client = new Client({ name, version: '1' }, { capabilities });
      client.setRequestHandler(ElicitRequestSchema, () => FORM);
      client.setRequestHandler(CreateMessageRequestSchema, () => MESSAGE);
      await client.connect(new SSEClientTransport(new URL('/sse', url)));
      testScope().defer(() => client.close());
      return client;
    };
    const clients = await Promise.all([connect('one'), connect('two')]);
    await Promise.all(
      clients.map(async (client, at) => {
        expect((await client.listTools()).tools.map(({ name }) => name)).toContain('ask');
        await rounds((name) => client.callTool({ name, arguments: {} }));
        const seen: number[] = [];
        const args = { count: 4, everyMs: 30, text: `of ${String(at)}` };
        const done = await client.callTool({ name: 'steps', arguments: args }, undefined, {
          onprogress: ({ progress }) => void seen.push(progress),
        });
        expect([done['content'], seen]).toEqual([[{ type: 'text', text: args.text }], [1, 2, 3, 4]]);
      }),
    );
  });

  it('of SDK 2.x are asked in mid call and keep their session', async () => {
    const client = new ClientV2({ name: 'v2', version: '1' }, { capabilities, versionNegotiation: { mode: 'legacy' } });
    client.setRequestHandler('elicitation/create', () => FORM);
    client.setRequestHandler('sampling/createMessage', () => MESSAGE);
    await client.connect(new TransportV2(url));
    testScope().defer(() => client.close());
    await rounds((name) => client.callTool({ name, arguments: {} }));
  });

  it('of SDK 2.x without sessions are asked by results', async () => {
    const client = new ClientV2(
      { name: 'modern', version: '1' },
      { capabilities, versionNegotiation: { mode: { pin: '2026-07-28' } } },
    );
    client.setRequestHandler('elicitation/create', () => FORM);
    client.setRequestHandler('sampling/createMessage', () => MESSAGE);
    await client.connect(new TransportV2(url));
    testScope().defer(() => client.close());
    for (let round = 1; round <= ROUNDS; round += 1) {
      expect(await client.callTool({ name: 'ask', arguments: {} })).toMatchObject({
        content: [{ text: JSON.stringify(FORM) }],
      });
    }
  });
});
