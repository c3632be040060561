import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  type ClientCapabilities,
} from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import { openSession, raw } from '../harness/clients/raw.ts';
import { eventually } from '../harness/poll.ts';
import { testScope } from '../harness/scope.ts';
import type { Vmcp } from '../harness/vmcp.ts';
import { openPost } from '../faults/event-stream.ts';
import { argumentOf, eventText, type Exchange, type McpServer } from '../faults/mcp-server.ts';
import { gatewayOverOne, notify, post, sessionWith, toolCall } from './gateway.ts';

const CAPABILITIES: ClientCapabilities = {
  elicitation: { form: {}, url: {} },
  sampling: {},
  roots: { listChanged: true },
};

const QUESTIONS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'elicitation/create': {
    message: 'Who?',
    requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
  },
  'sampling/createMessage': {
    messages: [{ role: 'user', content: { type: 'text', text: 'Hi' } }],
    maxTokens: 5,
    modelPreferences: { hints: [{ name: 'some-model' }], costPriority: 0.3 },
  },
  'roots/list': {},
};

/** Sends the client the request that the argument names, and returns the client's response as the result. */
async function asking({ ask, result, message }: Exchange): Promise<void> {
  const method = argumentOf(message.params, 'text');
  const said = await ask(method, QUESTIONS[method]);
  result({ content: [{ type: 'text', text: JSON.stringify(said.result ?? said.error) }] });
}

const asker = () =>
  gatewayOverOne({
    methods: {
      'tools/call': (exchange) => {
        void asking(exchange);
      },
    },
  });

/** Connects a client of the SDK that answers with its name. */
async function connect(url: string, name: string, legacy = false, capabilities = CAPABILITIES): Promise<Client> {
  const client = new Client({ name, version: '1.0.0' }, { capabilities });
  if (capabilities.elicitation)
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept' as const, content: { name } }));
  if (capabilities.sampling)
    client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => ({
      model: params.modelPreferences?.hints?.[0]?.name ?? 'none',
      role: 'assistant' as const,
      content: { type: 'text' as const, text: name },
    }));
  if (capabilities.roots)
    client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: `file:///${name}`, name }] }));
  const transport = legacy ? new SSEClientTransport(new URL(url)) : new StreamableHTTPClientTransport(new URL(url));
  await client.connect(transport);
  testScope().defer(() => client.close());
  return client;
}

async function answerOf(client: Client, method: string): Promise<unknown> {
  const { content } = await client.callTool({ name: 'one_tool', arguments: { text: method } });
  const [first] = content as { text: string }[];
  return JSON.parse(first?.text ?? 'null') as unknown;
}

const EXPECTED = (name: string): readonly [string, unknown][] => [
  ['elicitation/create', { action: 'accept', content: { name } }],
  ['sampling/createMessage', { model: 'some-model', role: 'assistant', content: { type: 'text', text: name } }],
  ['roots/list', { roots: [{ uri: `file:///${name}`, name }] }],
];

describe.each([
  { transport: 'streamable HTTP', legacy: false },
  { transport: 'HTTP+SSE', legacy: true },
])('a request of a backend during a call, over $transport', ({ legacy }) => {
  const url = ({ url: mcp, origin }: Vmcp) => (legacy ? `${origin}/sse` : mcp);

  it('reaches the calling client, also with two concurrent clients', async () => {
    const { vmcp } = await asker();
    const [ada, bob] = [await connect(url(vmcp), 'ada', legacy), await connect(url(vmcp), 'bob', legacy)];
    for (const [index, [method]] of EXPECTED('').entries()) {
      const answers = await Promise.all([ada, bob, ada, bob].map((client) => answerOf(client, method)));
      const [ofAda, ofBob] = [EXPECTED('ada')[index]?.[1], EXPECTED('bob')[index]?.[1]];
      expect(answers).toEqual([ofAda, ofBob, ofAda, ofBob]);
    }
  });

  it('is rejected for a client without the capability', async () => {
    const { vmcp } = await asker();
    const plain = await connect(url(vmcp), 'plain', legacy, {});
    for (const [method] of EXPECTED('')) expect(await answerOf(plain, method)).toMatchObject({ code: -32601 });
  });
});

describe('the capabilities in the initialize request to a backend', () => {
  const declared = (backend: McpServer) =>
    backend.seen
      .filter(({ method }) => method === 'initialize')
      .map(({ body }) => (JSON.parse(body) as { params: { capabilities: unknown } }).params.capabilities);

  it('are those of the client that can be forwarded', async () => {
    const { vmcp, backend } = await asker();
    const capabilities = { ...CAPABILITIES, experimental: { mine: {} } };
    const session = await sessionWith(vmcp.url, capabilities);
    void post(vmcp.url, session, toolCall(1, 'one_tool', { text: 'roots/list' })).catch(() => undefined);
    await eventually('the backend was opened for the client', () => declared(backend).length === 2);
    const apps = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } } };
    expect(declared(backend)).toEqual([apps, CAPABILITIES]); // the first is the gateway's own, for the lists
    await raw(vmcp.url, { method: 'DELETE', headers: session.headers });
  });
});

describe('elicitation', () => {
  it('by URL is forwarded unchanged', async () => {
    const question = { mode: 'url', elicitationId: 'e-1', url: 'https://example.com/x?y=1', message: 'Sign in' };
    const { vmcp } = await gatewayOverOne({
      methods: {
        'tools/call': ({ ask, result }) => {
          void ask('elicitation/create', question).then((said) => {
            result({ content: [], structuredContent: said.result });
          });
        },
      },
    });
    const session = await sessionWith(vmcp.url, CAPABILITIES);
    const call = await openPost(vmcp.url, session, toolCall(1, 'one_tool'));
    const asked = await eventually('the client has the request', () =>
      call.messages.find(({ method }) => method === 'elicitation/create'),
    );
    expect(asked.params).toEqual(question);
    const { status } = await post(vmcp.url, session, { jsonrpc: '2.0', id: asked.id, result: { action: 'decline' } });
    expect(status).toBe(202);
    await eventually('the call ends', () => call.ended());
    expect(call.messages.at(-1)).toMatchObject({ id: 1, result: { structuredContent: { action: 'decline' } } });
  });

  it('that is required first (error -32042) keeps its data', async () => {
    const data = { elicitations: [{ mode: 'url', elicitationId: 'e-2', url: 'https://example.com/', message: 'x' }] };
    const { vmcp } = await gatewayOverOne({
      methods: {
        'tools/call': ({ error }) => {
          error(-32042, 'sign in first', data);
        },
      },
    });
    const session = await openSession(vmcp.url);
    expect((await session.call('one_tool')).error).toEqual({ code: -32042, message: 'sign in first', data });
  });

  it('suspends the timeout of the call while the user answers', async () => {
    const operational = { timeouts: { default: '20s', perWorkload: { one: '1s' } } };
    const { vmcp } = await gatewayOverOne(
      {
        methods: {
          'tools/call': (exchange) => {
            void asking(exchange);
          },
        },
      },
      { operational },
    );
    const session = await sessionWith(vmcp.url, CAPABILITIES);
    const call = await openPost(vmcp.url, session, toolCall(1, 'one_tool', { text: 'elicitation/create' }));
    const asked = await eventually('the client has the request', () =>
      call.messages.find(({ id }) => id !== undefined),
    );
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    await post(vmcp.url, session, { jsonrpc: '2.0', id: asked.id, result: { action: 'cancel' } });
    await eventually('the call ends', () => call.ended());
    expect(call.messages.at(-1)?.result).toEqual({ content: [{ type: 'text', text: '{"action":"cancel"}' }] });
  });

  it('has integers as id and progress token, and the log names an answer with another id', async () => {
    const progressToken = 'of the backend';
    const { vmcp, backend } = await gatewayOverOne({
      methods: {
        'tools/call': ({ ask, result }) => {
          void ask('elicitation/create', { ...QUESTIONS['elicitation/create'], _meta: { progressToken } }).then(
            (said) => {
              result({ content: [], structuredContent: said.result });
            },
          );
        },
      },
    });
    const session = await sessionWith(vmcp.url, CAPABILITIES);
    const call = await openPost(vmcp.url, session, toolCall(1, 'one_tool'));
    const question = await eventually('the client has the request', () =>
      call.messages.find(({ id }) => id !== undefined),
    );
    expect(question).toMatchObject({ id: expect.any(Number), params: { _meta: { progressToken: question.id } } });
    await post(vmcp.url, session, notify('notifications/progress', { progressToken: question.id, progress: 1 }));
    const result = { action: 'decline' };
    expect((await post(vmcp.url, session, { jsonrpc: '2.0', id: 0, result })).status).toBe(202);
    await eventually('the log names the client', () =>
      /with an id that no request has.*regressions/u.test(vmcp.output()),
    );
    await post(vmcp.url, session, { jsonrpc: '2.0', id: String(question.id), result });
    await eventually('the call ends', () => call.ended());
    expect(call.messages.at(-1)).toMatchObject({ result: { structuredContent: result } });
    const [progress] = backend.received.filter(({ message }) => message.method === 'notifications/progress');
    expect(progress?.message.params).toEqual({ progressToken, progress: 1 });
  });

  it('cannot be answered by another client', async () => {
    const { vmcp, backend } = await asker();
    const [asked, other] = [await sessionWith(vmcp.url, CAPABILITIES), await sessionWith(vmcp.url, CAPABILITIES)];
    const call = await openPost(vmcp.url, asked, toolCall(1, 'one_tool', { text: 'elicitation/create' }));
    const question = await eventually('the client has the request', () =>
      call.messages.find(({ id }) => id !== undefined),
    );
    const before = backend.received.length;
    const answer = (action: string) => ({ jsonrpc: '2.0', id: question.id, result: { action } });
    await post(vmcp.url, other, answer('accept'));
    await post(vmcp.url, asked, answer('decline'));
    await eventually('the call ends', () => call.ended());
    expect(backend.received.slice(before).map(({ message }) => message.result)).toEqual([{ action: 'decline' }]);
  });

  it('without answers does not block later requests after its calls have ended', async () => {
    const operational = { timeouts: { default: '20s' } };
    const { vmcp, backend } = await gatewayOverOne(
      {
        methods: {
          'tools/call': ({ ask, req }) => {
            void ask('elicitation/create', QUESTIONS['elicitation/create']);
            setTimeout(() => req.socket.destroy(), 20);
          },
        },
      },
      { operational },
    );
    const session = await sessionWith(vmcp.url, CAPABILITIES);
    for (let round = 0; round < 11; round += 1) {
      const calls = Array.from({ length: 10 }, (_, n) => post(vmcp.url, session, toolCall(round * 10 + n, 'one_tool')));
      await Promise.all(calls);
    }
    backend.intercept = (exchange) => {
      if (exchange.message.method === 'tools/call') void asking(exchange);
      return exchange.message.method === 'tools/call';
    };
    const call = await openPost(vmcp.url, session, toolCall('last', 'one_tool', { text: 'elicitation/create' }));
    const question = await eventually('the client has the request', () =>
      call.messages.find(({ id }) => id !== undefined),
    );
    expect(question.method).toBe('elicitation/create');
    await post(vmcp.url, session, { jsonrpc: '2.0', id: question.id, result: { action: 'cancel' } });
    await eventually('the call ends', () => call.ended());
  });
});

it('a response of a backend outside of its call is not answered', async () => {
  const { backend } = await gatewayOverOne();
  const [stream] = await eventually(
    'the gateway listens',
    () => backend.streams.size > 0 && [...backend.streams.values()],
  );
  stream?.write(eventText({ id: 'stray', result: {} }));
  stream?.write(eventText({ id: 'asked', method: 'ping' }));
  const answered = (): unknown[] => backend.received.flatMap(({ message: { id } }) => (id === undefined ? [] : [id]));
  await eventually('the request behind it is answered', () => answered().includes('asked'));
  expect(answered()).toEqual(['asked']);
});
