import { describe, expect, it } from 'vitest';
import { startGatewayOver, type GatewayParts } from '../../harness/authenticated-gateway.ts';
import { startSessionServer, WATCHED } from '../../harness/backends/session-server.ts';
import { readStream } from '../../harness/clients/event-stream.ts';
import { MCP_HEADERS, openSession, raw, rpc, rpcReply, type RpcReply } from '../../harness/clients/raw.ts';
import { startIssuer } from '../../harness/issuer.ts';
import { eventually } from '../../harness/poll.ts';
import { testScope } from '../../harness/scope.ts';

const MODERN = '2026-07-28';
const OPEN = 'permit(principal, action, resource);';
const STAFF_READS = [
  'permit(principal, action == Action::"call_tool", resource);',
  'permit(principal, action == Action::"read_resource", resource) when { principal has claim_staff && principal.claim_staff };',
];
const NO_ASKING = 'forbid(principal, action, resource == Tool::"ask");';

const scope = testScope();

async function startWorld(policies: readonly string[], more: Partial<GatewayParts> = {}) {
  const [issuer, backend] = await Promise.all([startIssuer(scope), startSessionServer(scope)]);
  const backends = [{ name: 'b', transport: 'streamable-http', url: backend.url }] as const;
  const common = { issuer, backends: [...backends], aggregation: { conflict_resolution: 'none' as const }, ...more };
  const partsOf = (...cedar: string[]): GatewayParts => ({ ...common, cedar: { policies: cedar } });
  const gateway = await startGatewayOver(scope, partsOf(...policies));
  const auth = (claims: object = {}) => ({ authorization: `Bearer ${issuer.token({ sub: 'ann', ...claims })}` });
  /** Returns the headers and the body of a request of `MODERN`. */
  const modern = (method: string, params: object, name: string, claims?: object) => {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': MODERN,
      'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
    };
    const own = { 'mcp-protocol-version': MODERN, 'mcp-method': method, ...(name !== '' && { 'mcp-name': name }) };
    return { headers: { ...MCP_HEADERS, ...auth(claims), ...own }, body: rpc(method, { ...params, _meta }) };
  };
  const send = async (...request: Parameters<typeof modern>) =>
    rpcReply(await raw(gateway.url, { method: 'POST', ...modern(...request) }));
  const ask = (params: object = {}) => send('tools/call', { name: 'ask', arguments: {}, ...params }, 'ask');
  const replace = (...cedar: string[]) => gateway.swap(partsOf(...cedar));
  return { ...gateway, backend, auth, modern, send, ask, replace };
}

/** Returns the parameters of the request that answers a question. */
function answerTo({ result }: RpcReply) {
  const [key = ''] = Object.keys(result?.['inputRequests'] ?? {});
  const inputResponses = { [key]: { action: 'accept', content: { name: 'Ada' } } };
  return { requestState: String(result?.['requestState']), inputResponses };
}

describe('a call that waits for the input of its client', () => {
  it('ends when the policies deny it meanwhile', async () => {
    const world = await startWorld([OPEN]);
    const question = await world.ask();
    expect(question.result).toMatchObject({ resultType: 'input_required' });
    await world.replace(OPEN, NO_ASKING);
    expect(await world.ask(answerTo(question))).toMatchObject({ status: 403, error: { code: -32003 } });
    const answered = () => world.backend.seen.filter(({ body }) => body.includes('Ada'));
    const cancelled = () => world.backend.seen.some(({ method }) => method === 'notifications/cancelled');
    await eventually('the backend gets the cancellation', cancelled);
    expect(answered()).toEqual([]);
  });

  it('continues when the policies allow it, and counts once for the rate limits', async () => {
    const rateLimits = { perUser: { maxTokens: 1, refillPeriod: '1h' } };
    const world = await startWorld([OPEN], { rateLimits });
    const question = await world.ask();
    await world.replace(OPEN, 'forbid(principal, action, resource == Tool::"echo");');
    const again = await world.ask({ ...answerTo(question), inputResponses: {} });
    expect(again.result).toMatchObject({ resultType: 'input_required' });
    const reply = await world.ask(answerTo(again));
    expect(reply.text).toContain('Ada');
    expect((await world.ask()).status).toBe(429);
  });
});

const isUpdate = ({ method }: { readonly method?: string }): boolean => method === 'notifications/resources/updated';

describe('a subscription of a session', () => {
  const staff = { staff: true };

  /** Opens a session of the staff with a stream and a subscription. */
  async function subscribed({ url, auth }: Awaited<ReturnType<typeof startWorld>>) {
    const session = await openSession(url, undefined, auth(staff));
    const stream = await readStream(scope, url, { headers: { ...session.headers, accept: 'text/event-stream' } });
    expect((await session.request('resources/subscribe', { uri: WATCHED })).result).toEqual({});
    const updates = () => stream.messages.filter(isUpdate).length;
    return { session, updates };
  }

  it('ends when a later token of its user may not read the resource', async () => {
    const world = await startWorld(STAFF_READS);
    const [lowered, kept] = [await subscribed(world), await subscribed(world)];
    await kept.session.call('echo', { text: 'a' }, { headers: world.auth({ ...staff, jti: 'newer' }) });
    await world.backend.touchAll();
    await eventually('both get an update', () => lowered.updates() === 1 && kept.updates() === 1);
    expect((await lowered.session.call('echo', { text: 'b' }, { headers: world.auth() })).result).toBeDefined();
    await world.backend.touchAll();
    await eventually('the other gets an update', () => kept.updates() === 2);
    await lowered.session.call('echo', { text: 'c' });
    await world.backend.touchAll();
    await eventually('the other gets another update', () => kept.updates() === 3);
    expect(lowered.updates()).toBe(1);
  });

  it('ends over HTTP+SSE, too', async () => {
    const world = await startWorld(STAFF_READS);
    const stream = await readStream(scope, new URL('/sse', world.url).href, {
      headers: { accept: 'text/event-stream', ...world.auth(staff) },
    });
    await eventually('the endpoint is named', () => stream.endpoint() !== '');
    const at = new URL(stream.endpoint(), world.url).href;
    const request = async (method: string, params: object, id: number, claims: object = staff) => {
      const headers = { ...MCP_HEADERS, ...world.auth(claims) };
      await raw(at, { method: 'POST', headers, body: rpc(method, params, id) });
      return stream.next((message) => message.id === id);
    };
    await request(
      'initialize',
      { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
      0,
    );
    expect((await request('resources/subscribe', { uri: WATCHED }, 1)).result).toEqual({});
    const other = await subscribed(world);
    const updates = () => stream.messages.filter(isUpdate).length;
    await world.backend.touchAll();
    await eventually('both get an update', () => updates() === 1 && other.updates() === 1);
    expect((await request('tools/call', { name: 'echo', arguments: { text: 'b' } }, 2, {})).result).toBeDefined();
    await world.backend.touchAll();
    await eventually('the other gets an update', () => other.updates() === 2);
    expect(updates()).toBe(1);
  });
});

describe('a stream of subscriptions/listen', () => {
  it('names no resource that the policies deny now, though an older stream of its session had it', async () => {
    const world = await startWorld([OPEN]);
    const listen = async () => {
      const filter = { toolsListChanged: true, resourceSubscriptions: [WATCHED] };
      const stream = await readStream(
        scope,
        world.url,
        world.modern('subscriptions/listen', { notifications: filter }, ''),
      );
      const { params } = await stream.next(({ method = '' }) => method.endsWith('/acknowledged'));
      return { notifications: params?.['notifications'], updates: () => stream.messages.filter(isUpdate).length };
    };
    const [first, second] = [await listen(), await listen()];
    expect(second.notifications).toMatchObject({ resourceSubscriptions: [WATCHED] });
    await eventually('both get an update', async () => {
      await world.backend.touchAll();
      return first.updates() > 0 && second.updates() > 0;
    });
    await world.replace(OPEN, `forbid(principal, action, resource == Resource::"${WATCHED}");`);
    expect((await listen()).notifications).toEqual({ toolsListChanged: true });
  });
});
