import { beforeAll, describe, expect, it } from 'vitest';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { startMcpServer, type Exchange } from '../../faults/mcp-server.ts';
import { openExchange } from '../../faults/event-stream.ts';
import { hostBackend } from '../../harness/backends/host.ts';
import { openSession } from '../../harness/clients/raw.ts';
import { entry, gatewayOver } from '../../harness/manifests.ts';
import { eventually } from '../../harness/poll.ts';
import { blockScope, testScope } from '../../harness/scope.ts';
import { startVmcp } from '../../harness/vmcp.ts';
import { messageOf, REVISION, send } from './testdata/modern-request.ts';

const scope = blockScope();
const URL_QUESTION = { mode: 'url', message: 'Sign in', url: 'https://example.com/x' };
const FORM = { message: 'Who?', requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } };

const asks = (method: string, params: object) => ({
  resultType: 'input_required',
  requestState: 's',
  inputRequests: { q: { method, params } },
});

/** Results of the tools of a backend of `REVISION`, before the client has answered. */
const RESULTS: Readonly<Record<string, object>> = {
  form: asks('elicitation/create', FORM),
  url: asks('elicitation/create', URL_QUESTION),
  sampling: asks('sampling/createMessage', { messages: [], maxTokens: 1 }),
  odd: asks('ping', {}),
  partial: { resultType: 'partial', content: [] },
  list: { content: [{ type: 'text', text: '[1]' }], structuredContent: [1] },
};

const ERRORS: Readonly<Record<string, number>> = { header: -32020, revision: -32022, lacking: -32021 };

interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: { readonly name?: string; readonly inputResponses?: object };
}

function replyTo({ method = '', params: { name = '', inputResponses } = {} }: Message): object {
  const done = { content: [{ type: 'text', text: JSON.stringify(inputResponses ?? 'done') }] };
  const tool = (each: string): object => ({
    name: each,
    inputSchema: { type: 'object' },
    ...(each === 'list' && { outputSchema: { type: 'array' } }),
  });
  switch (method) {
    case 'server/discover':
      return { result: { supportedVersions: [REVISION], capabilities: { tools: {}, prompts: {}, completions: {} } } };
    case 'tools/list':
      return { result: { tools: [...Object.keys(RESULTS), ...Object.keys(ERRORS)].map(tool) } };
    case 'prompts/list':
      return { result: { prompts: [{ name: 'ask' }] } };
    case 'completion/complete':
      return { result: RESULTS['form'] };
    case 'tools/call':
      if (ERRORS[name] !== undefined) return { error: { code: ERRORS[name], message: 'no', data: { of: 'backend' } } };
      return { result: inputResponses ? done : RESULTS[name] };
    default:
      return { error: { code: -32601, message: 'no' } };
  }
}

async function startModernBackend(): Promise<string> {
  const { url } = await hostBackend(scope, '/mcp', (_req, res, body) => {
    const message = body as Message;
    const reply = replyTo(message) as { result?: object };
    const result = reply.result && { resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...reply.result };
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...reply, ...(result && { result }) }));
    return Promise.resolve();
  });
  return url;
}

async function gatewayOverUrl(backend: string, tool: string): Promise<string> {
  const config = { aggregation: { conflictResolution: 'none' } };
  const { url } = await startVmcp(scope, { files: gatewayOver([entry('one', backend)], config) });
  const session = await openSession(url);
  await eventually('the tools are listed', async () => (await session.tools()).includes(tool));
  return url;
}

describe('over a backend of 2026-07-28', () => {
  let url: string;
  beforeAll(async () => {
    url = await gatewayOverUrl(await startModernBackend(), 'form');
  });
  const call = (name: string, capabilities: object = {}) => send(url, 'tools/call', { name }, { capabilities });

  it.each([
    ['form', {}, { elicitation: {} }],
    ['form', { elicitation: { url: {} } }, { elicitation: { form: {} } }],
    ['url', { elicitation: {} }, { elicitation: { url: {} } }],
    ['sampling', { elicitation: {} }, { sampling: {} }],
  ])('a client is not asked by %s with the capabilities %j', async (tool, capabilities, requiredCapabilities) => {
    const error = { code: -32021, data: { requiredCapabilities } };
    expect(await call(tool, capabilities)).toMatchObject({ status: 400, error });
  });

  it('a client is asked for what it has declared', async () => {
    const { result } = await call('url', { elicitation: { url: {} } });
    expect(result).toMatchObject({ resultType: 'input_required', inputRequests: { q: { params: URL_QUESTION } } });
  });

  it.each(['odd', 'partial'])('a client gets an error instead of a result that is not MCP: %s', async (tool) => {
    expect(await call(tool, { elicitation: {} })).toMatchObject({ error: { code: -32603 } });
  });

  it('a completion asks for nothing', async () => {
    const params = { ref: { type: 'ref/prompt', name: 'ask' }, argument: { name: 'a', value: '' } };
    const reply = await send(url, 'completion/complete', params, { capabilities: { elicitation: {} } });
    expect(reply).toMatchObject({ error: { code: -32603 } });
  });

  it('a client gets the codes of the revision with their meaning', async () => {
    expect(await call('header')).toMatchObject({ status: 400, error: { code: -32020, data: { of: 'backend' } } });
    expect(await call('lacking')).toMatchObject({ status: 400, error: { code: -32021, data: { of: 'backend' } } });
    expect(await call('revision')).toMatchObject({ error: { code: -32603 } });
  });

  it('a client with a session gets results in the form of its revision', async () => {
    const client = new OldClient({ name: 'old', version: '1' }, { capabilities: { elicitation: { url: {} } } });
    await client.connect(new OldTransport(new URL(url)));
    testScope().defer(() => client.close());
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === 'list')).toEqual({ name: 'list', inputSchema: { type: 'object' } });
    const listed = await client.callTool({ name: 'list', arguments: {} });
    expect(listed).toEqual({ content: [{ type: 'text', text: '[1]' }] });
    expect(await client.callTool({ name: 'partial', arguments: {} })).toMatchObject({ isError: true });
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept' as const }));
    expect(await client.callTool({ name: 'url', arguments: {} })).toMatchObject({
      content: [{ text: '{"q":{"action":"accept"}}' }],
    });
  });
});

/** Tools of a backend of 2025-11-25. */
const TOOLS: Readonly<Record<string, (exchange: Exchange) => void>> = {
  url_first: ({ error }) => {
    error(-32042, 'sign in first', { elicitations: [{ ...URL_QUESTION, elicitationId: 'e' }] });
  },
  page: ({ ask, result }) => {
    void ask('elicitation/create', { ...URL_QUESTION, elicitationId: 'e' }).then((said) => {
      result({ content: [{ type: 'text', text: JSON.stringify(said.error ?? said.result) }] });
    });
  },
  slow: ({ message, send: sendFirst, ask, result }) => {
    const token = (message.params?.['_meta'] as { progressToken?: unknown } | undefined)?.progressToken;
    void ask('elicitation/create', FORM).then(() => {
      sendFirst({ method: 'notifications/elicitation/complete', params: { elicitationId: 'e' } });
      sendFirst({ method: 'notifications/progress', params: { progressToken: token, progress: 1 } });
      result({ content: [] });
    });
  },
};

describe('over a backend of 2025-11-25', () => {
  let url: string;
  beforeAll(async () => {
    const backend = await startMcpServer(scope, 'one', {
      capabilities: { tools: {}, prompts: {}, completions: {} },
      methods: {
        'prompts/list': ({ result }) => {
          result({ prompts: [{ name: 'ask' }] });
        },
        'completion/complete': ({ ask, result }) => {
          void ask('elicitation/create', FORM).then(({ error }) => {
            result({ completion: { values: [String(error?.code)] } });
          });
        },
        'tools/call': (exchange) => {
          TOOLS[String(exchange.message.params?.['name'])]?.(exchange);
        },
      },
    });
    backend.tools = Object.keys(TOOLS);
    url = await gatewayOverUrl(backend.url, 'slow');
  });

  it('a client is asked by a result to open a URL that the backend needs first', async () => {
    const call = (capabilities: object) => send(url, 'tools/call', { name: 'url_first' }, { capabilities });
    expect((await call({ elicitation: { url: {} } })).result).toMatchObject({
      resultType: 'input_required',
      inputRequests: { 'url-1': { method: 'elicitation/create', params: URL_QUESTION } },
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'vmcp' } },
    });
    const requiredCapabilities = { elicitation: { url: {} } };
    const missing = { status: 400, error: { code: -32021, data: { requiredCapabilities } } };
    expect(await call({ elicitation: {} })).toMatchObject(missing);
  });

  it('a client that has not declared URLs is not asked to open one', async () => {
    const asked = await send(url, 'tools/call', { name: 'page' }, { capabilities: { elicitation: {} } });
    const requiredCapabilities = { elicitation: { url: {} } };
    expect(asked).toMatchObject({ status: 400, error: { code: -32021, data: { requiredCapabilities } } });
  });

  it('a completion asks for nothing, and the backend learns it at once', async () => {
    const params = { ref: { type: 'ref/prompt', name: 'ask' }, argument: { name: 'a', value: '' } };
    const reply = await send(url, 'completion/complete', params, { capabilities: { elicitation: {} } });
    expect(reply.result).toMatchObject({ completion: { values: ['-32601'] } });
  });

  it('a client gets progress under the token of its latest request, and no end of a question', async () => {
    const params = { name: 'slow', _meta: { progressToken: 'first' } };
    const sender = { capabilities: { elicitation: {} } };
    const { result } = await send(url, 'tools/call', params, sender);
    expect(result).toMatchObject({ _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'vmcp' } } });
    const [key = ''] = Object.keys(result?.['inputRequests'] as object);
    const more = {
      name: 'slow',
      requestState: result?.['requestState'],
      inputResponses: { [key]: { action: 'decline' } },
      _meta: { progressToken: 'second' },
    };
    const stream = await openExchange(url, messageOf('tools/call', more, sender));
    await eventually('the call ends', () => stream.messages.some(({ id }) => id !== undefined));
    expect(stream.messages.slice(0, -1)).toEqual([
      { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 'second', progress: 1 } },
    ]);
  });
});
