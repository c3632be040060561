import { decodeJwt } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { startIssuer, type Issuer } from '../../../e2e/harness/issuer.ts';
import { blockScope } from '../../../e2e/harness/scope.ts';
import { SUBJECT_ISSUER_CLAIM } from '../../contract/identity.ts';
import { JWT_BEARER, TOKEN_EXCHANGE } from '../core/token-request.ts';
import { memoryStore } from '../storage/memory.ts';
import type { AssertionRules, DelegateClient, ExchangeRules, TrustedIssuer } from '../settings.ts';
import {
  basic,
  clientServer,
  ISSUER,
  RESOURCE,
  SECRET,
  type ClientServer,
  type Reply,
  type ServerOptions,
} from './testdata/client-server.ts';

const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';
const OTHER = 'https://gateway.example/other/mcp';
const clientOf = (clientId: string): DelegateClient => ({
  ...{ clientId, secretFile: clientId, audiences: [RESOURCE], scopes: ['tools'] },
});
const EXCHANGE: ExchangeRules = { audience: 'vmcp', clients: ['batch'], allowMayAct: false };
const ASSERTIONS: AssertionRules = {
  maxAgeMs: 300_000,
  subjects: [{ subject: 'pipeline', resources: [RESOURCE] }, { subject: 'robot' }],
};

const scope = blockScope();
let issuer: Issuer;
let second: Issuer;

beforeAll(async () => {
  issuer = await startIssuer(scope, { algorithms: ['ES256'] });
  second = await startIssuer(scope, { algorithms: ['ES256'] });
});

const trusted = (over: Partial<TrustedIssuer> = {}): TrustedIssuer => ({
  ...{ url: issuer.url, allowPrivateIPs: false, insecureAllowHTTP: false, exchange: EXCHANGE, assertions: ASSERTIONS },
  ...over,
});

/** Starts a server that trusts the issuer, with other rules for exchanges or assertions. */
const serverWith = (
  rules: Partial<ExchangeRules> = {},
  more: readonly TrustedIssuer[] = [],
  options: ServerOptions = {},
): Promise<ClientServer> =>
  clientServer({
    ...options,
    settings: {
      audiences: [RESOURCE, OTHER],
      delegation: {
        clients: [clientOf('batch'), clientOf('agent')],
        issuers: [trusted({ exchange: { ...EXCHANGE, ...rules } }), ...more],
      },
    },
  });

type Change = Readonly<Record<string, string | undefined>>;

const exchange = (server: ClientServer, token: string, over: Change = {}, client = 'batch'): Promise<Reply> =>
  server.post(
    '/oauth/token',
    { grant_type: TOKEN_EXCHANGE, subject_token: token, subject_token_type: ACCESS_TOKEN, ...over },
    basic(client, SECRET),
  );

const redeem = (server: ClientServer, assertion: string, over: Change = {}, headers = {}): Promise<Reply> =>
  server.post('/oauth/token', { grant_type: JWT_BEARER, assertion, resource: RESOURCE, ...over }, headers);

const verdict = ({ status, json: { error = 'ok' } }: Reply): string =>
  `${String(status)} ${typeof error === 'string' ? error : ''}`;
const causes = ({ events }: ClientServer): unknown[] =>
  events.filter(([event]) => event === 'request_refused').map(([, { cause }]) => cause);
const claimsOf = ({ json }: Reply) => decodeJwt(String(json['access_token']));

describe('a token of a trusted issuer', () => {
  it('is exchanged for a token of a user that the issuer and the subject identify', async () => {
    const server = await serverWith();
    const [first, again, other] = [
      await exchange(server, issuer.token({ sub: 'ann', aud: 'vmcp' }), { resource: RESOURCE }),
      await exchange(server, issuer.token({ sub: 'ann', aud: ['vmcp', 'x'], email: 'a@b.example' }), {
        audience: RESOURCE,
      }),
      await exchange(server, issuer.token({ sub: 'bob', aud: 'vmcp', email: 'a@b.example' }), { resource: RESOURCE }),
    ];
    expect(first.json).toMatchObject({ issued_token_type: ACCESS_TOKEN, expires_in: 900, scope: 'tools' });
    const claims = claimsOf(first);
    expect(claims).toMatchObject({
      ...{ iss: ISSUER, aud: RESOURCE, client_id: 'batch', scope: 'tools', act: { sub: 'batch' } },
      [SUBJECT_ISSUER_CLAIM]: issuer.url,
    });
    expect(claims.sub).not.toBe('ann');
    expect(claims).not.toHaveProperty('tsid');
    expect([claimsOf(again).sub, claimsOf(other).sub === claims.sub]).toEqual([claims.sub, false]);
    expect(server.events[0]).toEqual([
      'token_exchanged',
      { client_id: 'batch', sub: claims.sub, actor: 'batch', issuer: issuer.url },
    ]);
  });

  it('gives a token that introspection describes, that can be exchanged again, and that no client can revoke', async () => {
    const server = await serverWith();
    const token = String((await exchange(server, issuer.token({ aud: 'vmcp' }))).json['access_token']);
    const asked = await server.post('/oauth/introspect', { token }, basic('batch', SECRET));
    expect(asked.json).toMatchObject({ active: true, act: { sub: 'batch' } });
    const again = await exchange(server, token, {}, 'agent');
    expect(claimsOf(again)).toMatchObject({ act: { sub: 'agent', act: { sub: 'batch' } }, sub: decodeJwt(token).sub });
    expect(verdict(await server.post('/oauth/revoke', { token }, basic('batch', SECRET)))).toBe(
      '400 unsupported_token_type',
    );
    const userinfo = await server.request('/oauth/userinfo', { headers: { authorization: `Bearer ${token}` } });
    expect(userinfo.status).toBe(403);
  });

  it('ends the delegated tokens when the issuer is no longer trusted', async () => {
    const server = await serverWith();
    const token = String((await exchange(server, issuer.token({ aud: 'vmcp' }))).json['access_token']);
    const { keys, secrets } = server.context;
    const without = await clientServer({
      keys,
      secrets: secrets(),
      settings: { delegation: { clients: [clientOf('batch')], issuers: [] } },
    });
    expect(verdict(await exchange(without, token))).toBe('400 invalid_request');
  });

  it.each<[string, () => string, string]>([
    ['for another audience', () => issuer.token({ aud: 'other' }), 'audience'],
    ['that has expired', () => issuer.token({ aud: 'vmcp', exp: 1_000 }), 'expired'],
    ['without a subject', () => issuer.token({ aud: 'vmcp', sub: undefined }), 'subject'],
    ['with alg none', () => unsigned(issuer.token({ aud: 'vmcp' })), 'algorithm'],
    ['of an unknown issuer', () => second.token({ aud: 'vmcp' }), 'issuer'],
    ['signed by another issuer', () => second.token({ aud: 'vmcp', iss: issuer.url }), 'signature'],
    ['that claims this server as issuer', () => issuer.token({ aud: RESOURCE, iss: ISSUER, tsid: 't' }), 'token'],
    ['that is no JWT', () => 'opaque', 'malformed'],
  ])('is rejected %s', async (_what, tokenOf, cause) => {
    const server = await serverWith();
    expect(verdict(await exchange(server, tokenOf()))).toBe('400 invalid_request');
    expect(causes(server)).toEqual([cause]);
  });

  it('row 79: is rejected with the key id of this server', async () => {
    const server = await serverWith();
    const [{ kid } = {}] = server.context.keys.jwks().keys;
    expect(verdict(await exchange(server, issuer.token({ aud: 'vmcp' }, { header: { kid } })))).toBe(
      '400 invalid_request',
    );
    expect(causes(server)).toEqual(['kid']);
  });

  it('is rejected from another client, for another scope and for another audience', async () => {
    const server = await serverWith();
    const token = issuer.token({ aud: 'vmcp' });
    expect(verdict(await exchange(server, token, {}, 'agent'))).toBe('400 invalid_request');
    expect(verdict(await exchange(server, token, { scope: 'tools email' }))).toBe('400 invalid_scope');
    expect(verdict(await exchange(server, token, { resource: OTHER }))).toBe('400 invalid_target');
    expect(verdict(await exchange(await serverWith({ clients: ['*'] }), token, {}, 'agent'))).toBe('200 ok');
  });

  it('waits for keys that cannot be fetched', async () => {
    const down = trusted({ url: 'http://127.0.0.1:9' });
    const server = await serverWith({}, [down]);
    const reply = await exchange(server, issuer.token({ aud: 'vmcp', iss: down.url }));
    expect([verdict(reply), reply.headers.get('retry-after')]).toEqual(['503 temporarily_unavailable', '5']);
  });
});

const unsigned = (token: string): string => {
  const header = Buffer.from('{"alg":"none","kid":"key-1-es256"}').toString('base64url');
  return `${header}.${token.split('.')[1] ?? ''}.`;
};

describe('the actor', () => {
  const agent = { act_sub: 'agent-7' };
  it.each<[string, Partial<ExchangeRules>, Readonly<Record<string, unknown>>, unknown]>([
    ['of the claim', { actorClaim: 'act_sub' }, agent, { sub: 'agent-7' }],
    ['that is listed', { actorClaim: 'act_sub', actors: ['agent-7'] }, agent, { sub: 'agent-7' }],
    ['that matches', { actorClaim: 'act_sub', actorMatcher: /^(?:agent-\d)$/u }, agent, { sub: 'agent-7' }],
    [
      'that may_act names',
      { actorClaim: 'act_sub', allowMayAct: true },
      { ...agent, may_act: { sub: 'agent-7' } },
      { sub: 'agent-7' },
    ],
    [
      'of the act claim',
      { actorClaim: 'act' },
      { act: { sub: 'a', act: { sub: 'b' } } },
      { sub: 'a', act: { sub: 'b' } },
    ],
    [
      'above the earlier ones',
      { actorClaim: 'act_sub' },
      { ...agent, act: { sub: 'a' } },
      { sub: 'agent-7', act: { sub: 'a' } },
    ],
  ])('%s is accepted, with its issuer', async (_what, rules, claims, expected) => {
    const reply = await exchange(await serverWith(rules), issuer.token({ aud: 'vmcp', ...claims }));
    expect(claimsOf(reply)['act']).toEqual(withIssuer(expected));
  });

  it.each<[string, Partial<ExchangeRules>, Readonly<Record<string, unknown>>, string]>([
    ['that the token does not name', { actorClaim: 'act_sub' }, {}, 'actor_claim'],
    ['row 80: that is not listed', { actorClaim: 'act_sub', actors: ['agent-8'] }, agent, 'actor_not_listed'],
    ['that is the client, and not listed', { actors: ['agent-8'] }, {}, 'actor_not_listed'],
    ['that does not match', { actorClaim: 'act_sub', actorMatcher: /^(?:agent-)$/u }, agent, 'actor_mismatch'],
    ['that may_act does not name', { allowMayAct: true }, { may_act: { sub: 'other' } }, 'may_act'],
  ])('%s is rejected', async (_what, rules, claims, cause) => {
    const server = await serverWith(rules);
    expect(verdict(await exchange(server, issuer.token({ aud: 'vmcp', ...claims })))).toBe('400 invalid_request');
    expect(causes(server)).toEqual([cause]);
  });

  it('of a third issuer does not count as one of the list', async () => {
    const third = trusted({ url: second.url });
    const server = await serverWith({ actors: ['agent'] }, [third]);
    const actorOf = (by: Issuer) => ({
      actor_token: by.token({ aud: 'vmcp', sub: 'agent' }),
      actor_token_type: ACCESS_TOKEN,
    });
    const token = issuer.token({ aud: 'vmcp' });
    expect(verdict(await exchange(server, token, actorOf(issuer)))).toBe('200 ok');
    expect(verdict(await exchange(server, token, actorOf(second)))).toBe('400 invalid_request');
    expect(causes(server)).toEqual(['actor_issuer']);
  });

  it('cannot be delegated to more than ten times', async () => {
    const deep = Array.from({ length: 10 }).reduce<object>((act, _, index) => ({ sub: `a${String(index)}`, act }), {
      sub: 'a',
    });
    const server = await serverWith();
    expect(verdict(await exchange(server, issuer.token({ aud: 'vmcp', act: deep })))).toBe('400 invalid_request');
  });
});

const withIssuer = (actor: unknown): unknown => {
  const { sub, act } = actor as { sub: string; act?: unknown };
  return { sub, iss: issuer.url, ...(act !== undefined && { act: withIssuer(act) }) };
};

describe('an assertion', () => {
  const assertion = (claims: object = {}, header: object = {}): string =>
    issuer.token({ sub: 'pipeline', aud: ISSUER, ...claims }, { header: { ...header } });

  it('gets a short token for the bound subject, without a client', async () => {
    const server = await serverWith();
    const reply = await redeem(server, assertion(), { scope: 'tools' });
    expect(reply.json).toEqual({
      ...{ access_token: expect.any(String), token_type: 'Bearer', expires_in: 900, scope: 'tools' },
    });
    const claims = claimsOf(reply);
    expect(claims).toMatchObject({
      ...{ aud: RESOURCE, client_id: `${issuer.url}#pipeline`, [SUBJECT_ISSUER_CLAIM]: issuer.url },
    });
    expect(claims).not.toHaveProperty('act');
    expect(claimsOf(await redeem(server, assertion())).sub).toBe(claims.sub);
    expect(server.events[0]?.[0]).toBe('assertion_redeemed');
  });

  it('may come from a delegate client, which limits it, and from no other client', async () => {
    const server = await serverWith();
    const byClient = await redeem(server, assertion(), {}, basic('batch', SECRET));
    expect(claimsOf(byClient)).toMatchObject({ client_id: 'batch', scope: 'tools' });
    expect(verdict(await redeem(server, assertion(), { scope: 'email' }, basic('batch', SECRET)))).toBe(
      '400 invalid_scope',
    );
    expect(verdict(await redeem(server, assertion(), { client_id: 'vcl_public' }))).toBe('400 unauthorized_client');
    expect(verdict(await redeem(server, assertion(), {}, basic('batch', 'wrong')))).toBe('401 invalid_client');
  });

  it('row 81: works once if it has a jti', async () => {
    const server = await serverWith();
    const once = assertion();
    expect(verdict(await redeem(server, once))).toBe('200 ok');
    expect(verdict(await redeem(server, once))).toBe('400 invalid_grant');
    expect(causes(server)).toEqual(['replayed']);
    const many = assertion({ jti: undefined });
    expect([verdict(await redeem(server, many)), verdict(await redeem(server, many))]).toEqual(['200 ok', '200 ok']);
  });

  it('works once at all replicas, which give its subject the same user', async () => {
    const store = memoryStore(Date.now);
    const [one, two] = [await serverWith({}, [], { store }), await serverWith({}, [], { store })];
    const once = assertion();
    const replies = await Promise.all([redeem(one, once), redeem(two, once)]);
    expect(replies.map(verdict).toSorted()).toEqual(['200 ok', '400 invalid_grant']);
    expect(claimsOf(await redeem(one, assertion())).sub).toBe(claimsOf(await redeem(two, assertion())).sub);
  });

  it('is not used up by a rejected request', async () => {
    const server = await serverWith();
    const once = assertion();
    expect(verdict(await redeem(server, once, { scope: 'openid' }))).toBe('400 invalid_scope');
    expect(verdict(await redeem(server, once, { resource: OTHER }))).toBe('400 invalid_target');
    expect(verdict(await redeem(server, once))).toBe('200 ok');
  });

  const minutesAgo = (minutes: number): number => Math.floor(Date.now() / 1_000) - minutes * 60;
  it.each<[string, () => string, string]>([
    ['row 81: of a subject that is not bound', () => assertion({ sub: 'other' }), 'subject_not_bound'],
    ['for another audience', () => assertion({ aud: 'https://other.example' }), 'audience'],
    ['that has expired', () => assertion({ exp: 1_000 }), 'expired'],
    ['row 81: that is too old', () => assertion({ iat: minutesAgo(6) }), 'too_old'],
    ['without iat', () => assertion({ iat: undefined }), 'issued_at'],
    ['with an empty jti', () => assertion({ jti: '' }), 'jti'],
    ['that authenticates a client', () => assertion({}, { typ: 'client-authentication+jwt' }), 'token_type'],
    ['with alg none', () => unsigned(assertion()), 'algorithm'],
    ['signed by another issuer', () => second.token({ sub: 'pipeline', aud: ISSUER, iss: issuer.url }), 'signature'],
    ['of an unknown issuer', () => second.token({ sub: 'pipeline', aud: ISSUER }), 'issuer'],
    ['that is no JWT', () => 'x', 'malformed'],
  ])('is rejected %s', async (_what, assertionOf, cause) => {
    const server = await serverWith();
    expect(verdict(await redeem(server, assertionOf()))).toBe('400 invalid_grant');
    expect(causes(server)).toEqual([cause]);
  });

  it('must name its resource if there are several, and must be there', async () => {
    const server = await serverWith();
    expect(verdict(await redeem(server, assertion({ sub: 'robot' }), { resource: undefined }))).toBe(
      '400 invalid_target',
    );
    expect(verdict(await redeem(server, '', {}))).toBe('400 invalid_request');
  });

  it('is accepted and advertised only from issuers with the grant', async () => {
    const path = '/.well-known/oauth-authorization-server';
    const server = await serverWith();
    expect((await server.request(path)).json['grant_types_supported']).toContain(JWT_BEARER);
    const issuers = [trusted({ assertions: undefined })];
    const without = await clientServer({ settings: { delegation: { clients: [clientOf('batch')], issuers } } });
    expect((await without.request(path)).json['grant_types_supported']).not.toContain(JWT_BEARER);
    expect(verdict(await redeem(without, assertion()))).toBe('400 unsupported_grant_type');
  });
});
