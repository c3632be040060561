import { Client, StreamableHTTPClientTransport, type ClientOptions } from '@modelcontextprotocol/client';
import { beforeAll, describe, expect, it } from 'vitest';
import { startConformanceServer } from '../../conformance/fixture/host.ts';
import { MCP_HEADERS, openSession, raw, rpc, rpcReply } from '../../harness/clients/raw.ts';
import { entry, gatewayOver } from '../../harness/manifests.ts';
import { eventually } from '../../harness/poll.ts';
import { blockScope, testScope, type Scope } from '../../harness/scope.ts';
import { startVmcp } from '../../harness/vmcp.ts';

const REVISION = '2026-07-28';
const scope = blockScope();
let url: string;

beforeAll(async () => {
  url = await gatewayOverUrl(scope, (await startConformanceServer(scope)).url, 'test_simple_text');
});

async function gatewayOverUrl(owner: Scope, backend: string, tool: string): Promise<string> {
  const config = { aggregation: { conflictResolution: 'none' } };
  const vmcp = await startVmcp(owner, { files: gatewayOver([entry('old', backend)], config) });
  const session = await openSession(vmcp.url);
  await eventually('the tools are listed', async () => (await session.tools()).includes(tool));
  return vmcp.url;
}

/** Connects a client of the SDK 2.x that speaks only the revision without sessions. */
async function connect(to: string, capabilities: ClientOptions['capabilities'] = {}): Promise<Client> {
  const options = { capabilities, versionNegotiation: { mode: { pin: REVISION } } } as const;
  const client = new Client({ name: 'modern', version: '1.0.0' }, options);
  await client.connect(new StreamableHTTPClientTransport(new URL(to)));
  testScope().defer(() => client.close());
  return client;
}

interface ModernRequest {
  readonly capabilities?: object;
  readonly name?: string;
  readonly to?: string;
}

/** Sends a request with the headers and `_meta` of the revision. */
async function post(method: string, params: object, { capabilities = {}, name, to = url }: ModernRequest = {}) {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': REVISION,
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  };
  const named = name === undefined ? {} : { 'mcp-name': name };
  const headers = { ...MCP_HEADERS, 'mcp-protocol-version': REVISION, 'mcp-method': method, ...named };
  return rpcReply(await raw(to, { method: 'POST', headers, body: rpc(method, { ...params, _meta: meta }) }));
}

const call = (name: string, more: object = {}, capabilities: object = { elicitation: {} }) =>
  post('tools/call', { name, arguments: { message: 'who?' }, ...more }, { name, capabilities });

describe('a client without sessions over a backend with sessions', () => {
  it('is served by the SDK 2.x as if the backend were new', async () => {
    const client = await connect(url);
    expect(client.getNegotiatedProtocolVersion()).toBe(REVISION);
    expect(client.getServerVersion()).toMatchObject({ name: 'vmcp' });
    const { content } = await client.callTool({ name: 'test_simple_text', arguments: {} });
    expect(content).toMatchObject([{ type: 'text' }]);
    const progress: number[] = [];
    await client.callTool(
      { name: 'test_tool_with_progress', arguments: {} },
      { onprogress: (each) => void progress.push(each.progress) },
    );
    expect(progress).toHaveLength(3);
    await expect(client.callTool({ name: 'nothing', arguments: {} })).rejects.toThrow('unknown tool');
  });

  it('is asked in mid call by a result, and answers with its next request', async () => {
    const client = await connect(url, { elicitation: {}, sampling: {} });
    client.setRequestHandler('elicitation/create', () => ({
      action: 'accept',
      content: { username: 'ann', email: 'a@b.example' },
    }));
    client.setRequestHandler('sampling/createMessage', () => ({
      model: 'm',
      role: 'assistant',
      content: { type: 'text', text: 'Berlin' },
    }));
    expect(
      JSON.stringify(await client.callTool({ name: 'test_elicitation', arguments: { message: 'who?' } })),
    ).toContain('ann');
    const sampled = await client.callTool({ name: 'test_sampling', arguments: { prompt: 'capital?' } });
    expect(JSON.stringify(sampled)).toContain('Berlin');
  });

  it('is asked again for what it did not answer, under another state', async () => {
    const first = await call('test_elicitation');
    expect(first.result).toMatchObject({ resultType: 'input_required' });
    const { requestState, inputRequests } = first.result as {
      requestState: string;
      inputRequests: Record<string, object>;
    };
    const [key = ''] = Object.keys(inputRequests);
    expect(inputRequests[key]).toMatchObject({ method: 'elicitation/create' });
    const again = await call('test_elicitation', { requestState, inputResponses: { other: {} } });
    expect(again.result).toMatchObject({ resultType: 'input_required', inputRequests });
    expect(again.result?.['requestState']).not.toBe(requestState);
    const done = await call('test_elicitation', {
      requestState: again.result?.['requestState'],
      inputResponses: { [key]: { action: 'decline' } },
    });
    expect(done.result).toMatchObject({ resultType: 'complete' });
  });

  it.each([
    ['altered', (state: string) => `${state}-TAMPERED`, {}],
    ['of another tool', (state: string) => state, { name: 'test_sampling' }],
    ['of other arguments', (state: string) => state, { arguments: { message: 'what?' } }],
  ])('is refused with a state that is %s', async (_, change, more) => {
    const { result } = await call('test_elicitation');
    const name = 'name' in more ? more.name : 'test_elicitation';
    const params = { requestState: change(String(result?.['requestState'])), inputResponses: {}, ...more };
    const refused = await call(name, params);
    expect(refused).toMatchObject({ status: 400, error: { code: -32602, data: { reason: 'invalid_request_state' } } });
  });

  it('is refused with a state that it has used', async () => {
    const { result } = await call('test_elicitation');
    const [key = ''] = Object.keys(result?.['inputRequests'] as object);
    const retry = { requestState: result?.['requestState'], inputResponses: { [key]: { action: 'cancel' } } };
    expect((await call('test_elicitation', retry)).result).toMatchObject({ resultType: 'complete' });
    expect(await call('test_elicitation', retry)).toMatchObject({ status: 400, error: { code: -32602 } });
  });

  it('needs neither session id nor GET nor DELETE', async () => {
    const headers = { accept: 'text/event-stream', 'mcp-protocol-version': REVISION };
    expect((await raw(url, { headers })).status).toBe(405);
    expect((await raw(url, { method: 'DELETE', headers })).status).toBe(405);
    const reply = await raw(url, {
      method: 'POST',
      headers: { ...MCP_HEADERS, 'mcp-protocol-version': REVISION, 'mcp-method': 'tools/list', 'mcp-session-id': 'x' },
      body: rpc('tools/list', {
        _meta: {
          'io.modelcontextprotocol/protocolVersion': REVISION,
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      }),
    });
    expect(reply.status).toBe(200);
    expect(reply.headers['mcp-session-id']).toBeUndefined();
  });
});
