import { describe, expect, it } from 'vitest';
import { startGatewayOver } from '../../harness/authenticated-gateway.ts';
import { hostBackend } from '../../harness/backends/host.ts';
import { readStream } from '../../harness/clients/event-stream.ts';
import { MCP_HEADERS, openSession, raw, rpc, rpcReply } from '../../harness/clients/raw.ts';
import { startIssuer } from '../../harness/issuer.ts';
import { eventually } from '../../harness/poll.ts';
import { testScope } from '../../harness/scope.ts';
import { capturedEvents } from '../audit/lines.ts';

const REVISION = '2026-07-28';
const CAPABILITIES = { tools: {}, prompts: {}, resources: {}, completions: {} };
const POLICIES = [
  'permit(principal, action, resource);',
  'forbid(principal, action, resource) when { resource.name like "secret://*" };',
];

interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: { readonly uri?: string; readonly requestState?: string };
}

/** Result of a backend of `REVISION` that asks for input before it reads a resource. */
function resultOf({ method = '', params }: Message): object {
  switch (method) {
    case 'server/discover':
      return { supportedVersions: [REVISION], capabilities: CAPABILITIES };
    case 'tools/list':
      return { tools: [{ name: 'pay', inputSchema: { type: 'object' } }] };
    case 'resources/list':
      return { resources: ['a', 'b'].map((name) => ({ uri: `doc://${name}`, name })) };
    case 'resources/templates/list':
      return { resourceTemplates: [] };
    case 'prompts/list':
      return { prompts: [] };
    case 'resources/read':
      if (params?.requestState === undefined) {
        const asked = { method: 'elicitation/create', params: { message: 'm', requestedSchema: { type: 'object' } } };
        return { resultType: 'input_required', requestState: params?.uri, inputRequests: { q: asked } };
      }
      return { contents: [{ uri: params.uri, text: 'read' }], ttlMs: 60_000, cacheScope: 'public' };
    default:
      return { content: [] };
  }
}

const scope = testScope();

async function startWorld() {
  const issuer = await startIssuer(scope);
  const backend = await hostBackend(scope, '/mcp', (_req, res, body) => {
    const message = body as Message;
    const isOld = message.method === 'initialize';
    const result = { resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...resultOf(message) };
    const reply = isOld ? { error: { code: -32601, message: 'no' } } : { result };
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...reply }));
    return Promise.resolve();
  });
  const audit = capturedEvents();
  const one = { name: 'one', transport: 'streamable-http', url: backend.url, insecure_allow_http: true } as const;
  const gateway = await startGatewayOver(
    scope,
    { issuer, backends: [{ ...one, allow_private_ips: true }], audit: {}, cedar: { policies: POLICIES } },
    { stdout: audit.stdout },
  );
  const auth = (claims: object = {}) => ({ authorization: `Bearer ${issuer.token({ sub: 'ann', ...claims })}` });
  /** Sends a request of `REVISION`. */
  const send = async (method: string, params: object, name: string, claims?: object) => {
    const meta = {
      'io.modelcontextprotocol/protocolVersion': REVISION,
      'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
    };
    const own = { 'mcp-protocol-version': REVISION, 'mcp-method': method, 'mcp-name': name };
    const headers = { ...MCP_HEADERS, ...auth(claims), ...own };
    return rpcReply(await raw(gateway.url, { method: 'POST', headers, body: rpc(method, { ...params, _meta: meta }) }));
  };
  const received = (method: string) => backend.seen.filter((request) => request.method === method).length;
  return { ...gateway, audit, auth, send, received };
}

const INVALID_STATE = { status: 400, error: { code: -32602, data: { reason: 'invalid_request_state' } } };

describe('a client whose request the gateway and a backend could read differently', () => {
  it('cannot use a state for another item or with other rights', async () => {
    const world = await startWorld();
    const read = (params: object, claims?: object) =>
      world.send(
        'resources/read',
        { inputResponses: {}, ...params },
        'uri' in params ? String(params.uri) : '',
        claims,
      );
    const state = async (claims?: object) =>
      (await world.send('resources/read', { name: 'x', uri: 'doc://a' }, 'doc://a', claims)).result?.['requestState'];
    expect(await read({ name: 'x', uri: 'doc://b', requestState: await state() })).toMatchObject(INVALID_STATE);
    const ofAdmin = { name: 'x', uri: 'doc://a', requestState: await state({ groups: ['admins'] }) };
    expect(await read(ofAdmin, { groups: [] })).toMatchObject(INVALID_STATE);
    expect(await read(ofAdmin, { groups: ['admins'] })).toMatchObject({ result: { contents: [{ text: 'read' }] } });
  });

  it('gets a resource that no cache may give to a user whom a policy denies it', async () => {
    const world = await startWorld();
    const asked = await world.send('resources/read', { uri: 'doc://a' }, 'doc://a');
    const more = { uri: 'doc://a', requestState: asked.result?.['requestState'], inputResponses: {} };
    const { result } = await world.send('resources/read', more, 'doc://a');
    expect(result).toMatchObject({ contents: [{ text: 'read' }], ttlMs: 60_000, cacheScope: 'private' });
  });

  it('cannot pass a state of its own in a session', async () => {
    const world = await startWorld();
    const session = await openSession(world.url, undefined, world.auth());
    const own = { uri: 'doc://a', requestState: 'doc://a', inputResponses: {} };
    expect(await session.request('resources/read', own)).toMatchObject({ error: { code: -32602 } });
    expect(world.received('resources/read')).toBe(0);
  });

  it('cannot choose the name in the audit log', async () => {
    const world = await startWorld();
    const session = await openSession(world.url, undefined, world.auth());
    await session.request('resources/read', { name: 'harmless', uri: 'secret://top' });
    const ref = { type: 'ref/resource', name: 'harmless', uri: 'secret://top' };
    await session.request('completion/complete', { name: 'harmless', ref, argument: { name: 'a', value: 'b' } });
    const names = () =>
      world.audit
        .events()
        .filter(({ target }) => /read|complete/u.test(String(target['method'])))
        .map(({ target }) => target['name']);
    await expect.poll(names).toEqual(['secret://top', 'secret://top']);
  });

  it('cannot contradict its headers over HTTP+SSE, or use another revision there', async () => {
    const world = await startWorld();
    const headers = { accept: 'text/event-stream', ...world.auth() };
    const stream = await readStream(scope, new URL('/sse', world.url).href, { headers });
    await eventually('the endpoint is named', () => stream.endpoint() !== '');
    const at = new URL(stream.endpoint(), world.url).href;
    const post = (body: string, own: object = {}) =>
      raw(at, { method: 'POST', headers: { ...MCP_HEADERS, ...world.auth(), ...own }, body });
    const client = { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
    await post(rpc('initialize', client, 0));
    await stream.next(({ id }) => id === 0);
    const call = { name: 'one_pay', arguments: {} };
    const lie = await post(rpc('tools/call', call, 1), { 'mcp-method': 'tools/call', 'mcp-name': 'harmless' });
    expect(lie).toMatchObject({ status: 400, body: expect.stringContaining('Mcp-Name') as string });
    const claim = { 'io.modelcontextprotocol/clientCapabilities': { sampling: {} } };
    expect((await post(rpc('tools/call', { ...call, _meta: claim }, 2))).status).toBe(400);
    expect(world.received('tools/call')).toBe(0);
    expect((await post(rpc('tools/call', call, 3), { 'mcp-name': 'one_pay' })).status).toBe(202);
  });
});
