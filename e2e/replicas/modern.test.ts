import { beforeAll, describe, expect, it } from 'vitest';
import { startGatewayOver } from '../harness/authenticated-gateway.ts';
import { startSessionServer } from '../harness/backends/session-server.ts';
import { MCP_HEADERS, raw, rpc, rpcReply, type RpcReply } from '../harness/clients/raw.ts';
import { hasHaproxy } from '../harness/proxies/haproxy.ts';
import { startIssuer, type Issuer } from '../harness/issuer.ts';
import { hasRedis, startRedis } from '../harness/redis.ts';
import { startReplicas, sharedParts } from './replicas.ts';
import { blockScope, testScope } from '../harness/scope.ts';
import { eventually } from '../harness/poll.ts';

const REVISION = '2026-07-28';
const INVALID = { status: 400, error: { code: -32602, data: { reason: 'invalid_request_state' } } };

type Headers = Readonly<Record<string, string>>;

async function ask(url: string, params: object = {}, headers: Headers = {}): Promise<RpcReply> {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': REVISION,
    'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
  };
  const body = rpc('tools/call', { name: 'ask', arguments: {}, ...params, _meta: meta });
  const own = { 'mcp-protocol-version': REVISION, 'mcp-method': 'tools/call', 'mcp-name': 'ask' };
  return rpcReply(await raw(url, { method: 'POST', headers: { ...MCP_HEADERS, ...own, ...headers }, body }));
}

/** Returns the parameters of the request that answers a question. */
function answerTo({ result }: RpcReply, name = 'Ada') {
  const [key = ''] = Object.keys(result?.['inputRequests'] ?? {});
  const inputResponses = { [key]: { action: 'accept', content: { name } } };
  return { requestState: String(result?.['requestState']), inputResponses };
}

describe.skipIf(!hasRedis)('a client without sessions of three gateways', () => {
  const scope = blockScope();
  let issuer: Issuer;
  let urls: string[];
  const bearer = (sub: string): Headers => ({ authorization: `Bearer ${issuer.token({ sub })}` });

  beforeAll(async () => {
    const [redis, backend] = await Promise.all([startRedis(scope), startSessionServer(scope)]);
    issuer = await startIssuer(scope);
    const parts = { ...sharedParts(redis, backend.url), issuer };
    urls = (await Promise.all([1, 2, 3].map(() => startGatewayOver(scope, parts)))).map(({ url }) => url);
  });

  it('answers the question of a call at another one', async () => {
    for (const [first, second] of [
      [0, 1],
      [1, 2],
      [2, 2],
    ] as const) {
      const question = await ask(urls[first] ?? '', {}, bearer('ada'));
      expect(question.result).toMatchObject({ resultType: 'input_required' });
      const reply = await ask(urls[second] ?? '', answerTo(question), bearer('ada'));
      expect(reply.result, reply.text).toMatchObject({ resultType: 'complete' });
      expect(reply.text).toContain('Ada');
    }
  });

  it('is asked again at another one for what it has not answered', async () => {
    const question = await ask(urls[0] ?? '', {}, bearer('ada'));
    const { requestState } = answerTo(question);
    const again = await ask(urls[1] ?? '', { requestState, inputResponses: {} }, bearer('ada'));
    expect(again.result).toMatchObject({ resultType: 'input_required' });
    const reply = await ask(urls[2] ?? '', answerTo(again), bearer('ada'));
    expect(reply.result).toMatchObject({ resultType: 'complete' });
  });

  it('cannot use a state twice, also not at another one, and not that of another user', async () => {
    const question = await ask(urls[0] ?? '', {}, bearer('ada'));
    const answer = answerTo(question);
    expect(await ask(urls[1] ?? '', answer, bearer('eve'))).toMatchObject(INVALID);
    const altered = { ...answer, requestState: `${answer.requestState}A` };
    expect(await ask(urls[1] ?? '', altered, bearer('ada'))).toMatchObject(INVALID);
    expect((await ask(urls[1] ?? '', answer, bearer('ada'))).result).toMatchObject({ resultType: 'complete' });
    for (const url of urls) expect(await ask(url, answer, bearer('ada'))).toMatchObject(INVALID);
  });

  it('uses a state once when it sends it to all at the same time', async () => {
    const answer = answerTo(await ask(urls[0] ?? '', {}, bearer('ada')));
    const replies = await Promise.all(urls.map((url) => ask(url, answer, bearer('ada'))));
    expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 400, 400]);
  });
});

it.skipIf(!hasRedis)('a call that waits at another gateway ends when the policies here deny it', async () => {
  const scope = testScope();
  const [redis, backend, issuer] = await Promise.all([
    startRedis(scope),
    startSessionServer(scope),
    startIssuer(scope),
  ]);
  const partsOf = (...policies: string[]) => ({ ...sharedParts(redis, backend.url), issuer, cedar: { policies } });
  const open = 'permit(principal, action, resource);';
  const first = await startGatewayOver(scope, partsOf(open));
  const second = await startGatewayOver(scope, partsOf(open, 'forbid(principal, action, resource == Tool::"ask");'));
  const headers = { authorization: `Bearer ${issuer.token({ sub: 'ada' })}` };
  const question = await ask(first.url, {}, headers);
  expect(question.result).toMatchObject({ resultType: 'input_required' });
  expect(await ask(second.url, answerTo(question), headers)).toMatchObject({ status: 403, error: { code: -32003 } });
  const received = (method: string) => backend.seen.some((request) => request.method === method);
  await eventually('the call is cancelled', () => received('notifications/cancelled'));
  expect(backend.seen.filter(({ body }) => body.includes('Ada'))).toEqual([]);
});

it.skipIf(!hasRedis || !hasHaproxy)(
  'a call that waited at a killed replica is refused, with the advice to repeat it',
  async () => {
    const scope = testScope();
    const [redis, backend] = await Promise.all([startRedis(scope), startSessionServer(scope)]);
    const { replicas } = await startReplicas(scope, sharedParts(redis, backend.url));
    const [first, second] = replicas;
    const question = await ask(first?.url ?? '');
    expect(question.result).toMatchObject({ resultType: 'input_required' });
    first?.vmcp().signal('SIGKILL');
    await eventually('the process ends', () => first?.vmcp().running() === false);
    const reply = await ask(second?.url ?? '', answerTo(question));
    expect(reply.error).toMatchObject({ data: { reason: 'call_ended' } });
    expect(reply.error?.message).toContain('send the request again');
  },
);
