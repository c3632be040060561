import { describe, expect, it } from 'vitest';
import { startGatewayOver, type GatewayParts } from '../../harness/authenticated-gateway.ts';
import { startSessionServer } from '../../harness/backends/session-server.ts';
import { MCP_HEADERS, raw, rpc, rpcReply, type RpcReply } from '../../harness/clients/raw.ts';
import { startIssuer } from '../../harness/issuer.ts';
import { eventually } from '../../harness/poll.ts';
import { testScope } from '../../harness/scope.ts';

const MODERN = '2026-07-28';
const OPEN = 'permit(principal, action, resource);';
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

describe('a call that waits for the input of its client', { timeout: 30_000 }, () => {
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
