import { decodeJwt } from 'jose';
import { describe, expect, it } from 'vitest';
import { LOGIN_CLIENT_CLAIM } from '../../contract/identity.ts';
import { TOKEN_EXCHANGE } from '../core/token-request.ts';
import type { DelegateClient } from '../settings.ts';
import {
  basic,
  clientServer,
  newSecrets,
  RESOURCE,
  SECRET,
  type ClientServer,
  type Reply,
} from './testdata/client-server.ts';

const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';
const OTHER = 'https://gateway.example/other/mcp';
const BATCH: DelegateClient = {
  clientId: 'batch',
  secretFile: 'batch',
  audiences: [RESOURCE],
  scopes: ['tools', 'profile'],
};
const AGENT: DelegateClient = { ...BATCH, clientId: 'agent', scopes: ['tools'] };
const ELSEWHERE: DelegateClient = { ...BATCH, clientId: 'elsewhere', audiences: [OTHER] };

const delegationServer = (): Promise<ClientServer> =>
  clientServer({
    settings: { audiences: [RESOURCE, OTHER], delegation: { clients: [BATCH, AGENT, ELSEWHERE], issuers: [] } },
  });

type Change = Readonly<Record<string, string | undefined>>;

const exchange = (server: ClientServer, token: unknown, over: Change = {}, client = 'batch'): Promise<Reply> =>
  server.post(
    '/oauth/token',
    { grant_type: TOKEN_EXCHANGE, subject_token: String(token), subject_token_type: ACCESS_TOKEN, ...over },
    basic(client, SECRET),
  );

const verdict = ({ status, json: { error = 'ok' } }: Reply): string =>
  `${String(status)} ${typeof error === 'string' ? error : ''}`;
const reasons = ({ events }: ClientServer): unknown[] =>
  events.filter(([event]) => event === 'request_refused').map(([, { reason }]) => reason);

describe('a token exchange', () => {
  it('returns a short token of the same login, with the access that the client and the subject share', async () => {
    const server = await delegationServer();
    const subject = await server.login({ tsid: 'tsid-1', familyId: 'family-1' });
    const reply = await exchange(server, subject['access_token'], { resource: RESOURCE });
    expect(reply.status).toBe(200);
    expect(reply.headers.get('cache-control')).toBe('no-store');
    expect(reply.json).toEqual({
      ...{ access_token: expect.any(String), token_type: 'Bearer', expires_in: 900 },
      ...{ issued_token_type: ACCESS_TOKEN, scope: 'profile tools' },
    });
    const claims = decodeJwt(String(reply.json['access_token']));
    expect(claims).toMatchObject({
      ...{ sub: 'user-1', aud: RESOURCE, client_id: 'batch', scope: 'profile tools', name: 'Ann' },
      ...{ act: { sub: 'batch' }, tsid: 'tsid-1', [LOGIN_CLIENT_CLAIM]: 'vcl_public' },
    });
    expect(server.events.at(-1)).toEqual([
      'token_exchanged',
      { client_id: 'batch', sub: 'user-1', actor: 'batch', family: 'family-1' },
    ]);
  });

  it('accepts the secret in the body, and the target as audience', async () => {
    const server = await delegationServer();
    const { access_token: token } = await server.login();
    const form = { client_id: 'batch', client_secret: SECRET, audience: RESOURCE, scope: 'tools' };
    const reply = await server.post('/oauth/token', {
      ...{ grant_type: TOKEN_EXCHANGE, subject_token: String(token), subject_token_type: ACCESS_TOKEN, ...form },
    });
    expect([verdict(reply), reply.json['scope']]).toEqual(['200 ok', 'tools']);
  });

  it('row 80: puts each actor on top of the earlier ones, up to ten', async () => {
    const server = await delegationServer();
    let { access_token: token } = await server.login();
    for (let depth = 1; depth <= 10; depth += 1) {
      const client = depth % 2 === 0 ? 'agent' : 'batch';
      const reply = await exchange(server, token, {}, client);
      expect(verdict(reply)).toBe('200 ok');
      token = reply.json['access_token'];
      if (depth === 2) expect(decodeJwt(String(token))['act']).toEqual({ sub: 'agent', act: { sub: 'batch' } });
    }
    expect(verdict(await exchange(server, token))).toBe('400 invalid_request');
    expect(reasons(server)).toEqual(['exchange_depth']);
  });

  it('names the subject of the actor token as actor', async () => {
    const server = await delegationServer();
    const [subject, other] = [await server.login(), await server.login({ login: { userId: 'user-2', authTime: 0 } })];
    const actor = { actor_token: String(other['access_token']), actor_token_type: ACCESS_TOKEN };
    const reply = await exchange(server, subject['access_token'], actor);
    const { act, sub } = decodeJwt(String(reply.json['access_token']));
    expect([sub, act]).toEqual(['user-1', { sub: 'user-2', iss: 'https://gateway.example/team' }]);
  });

  it('ends no later than the subject token', async () => {
    const server = await delegationServer();
    const { access_token: token } = await server.login();
    server.advance(3_400_000);
    const reply = await exchange(server, token);
    expect(Number(reply.json['expires_in'])).toBeLessThanOrEqual(200);
    expect(decodeJwt(String(reply.json['access_token'])).exp).toBeLessThanOrEqual(decodeJwt(String(token)).exp ?? 0);
  });

  it('row 79: ends with the login', async () => {
    const server = await delegationServer();
    const subject = await server.login();
    const { json } = await exchange(server, subject['access_token']);
    const introspect = (): Promise<Reply> =>
      server.post('/oauth/introspect', { token: String(json['access_token']) }, basic('batch', SECRET));
    expect((await introspect()).json).toMatchObject({ active: true, sub: 'user-1', act: { sub: 'batch' } });
    await server.post('/oauth/revoke', { token: String(subject['refresh_token']), client_id: 'vcl_public' });
    expect((await introspect()).json).toEqual({ active: false });
    expect(verdict(await exchange(server, subject['access_token']))).toBe('400 invalid_request');
    expect(verdict(await exchange(server, json['access_token']))).toBe('400 invalid_request');
  });

  it('gives the client no way to end the login', async () => {
    const server = await delegationServer();
    const subject = await server.login();
    const { json } = await exchange(server, subject['access_token']);
    const revoked = await server.post('/oauth/revoke', { token: String(json['access_token']) }, basic('batch', SECRET));
    expect(verdict(revoked)).toBe('400 unsupported_token_type');
    expect(verdict(await exchange(server, subject['access_token']))).toBe('200 ok');
  });
});

describe('a token exchange is rejected', () => {
  it.each<[string, Change, string]>([
    ['without a subject token', { subject_token: undefined }, '400 invalid_request'],
    ['without a subject token type', { subject_token_type: undefined }, '400 invalid_request'],
    ['with a SAML subject', { subject_token_type: 'urn:ietf:params:oauth:token-type:saml2' }, '400 invalid_request'],
    ['with an actor token without type', { actor_token: 'x' }, '400 invalid_request'],
    ['with an actor token type alone', { actor_token_type: ACCESS_TOKEN }, '400 invalid_request'],
    ['with an invalid actor token', { actor_token: 'x', actor_token_type: ACCESS_TOKEN }, '400 invalid_request'],
    [
      'for a refresh token',
      { requested_token_type: 'urn:ietf:params:oauth:token-type:refresh_token' },
      '400 invalid_request',
    ],
    ['row 78: for another resource than that of the subject', { resource: OTHER }, '400 invalid_target'],
    ['for an unknown audience', { audience: 'https://x.example/mcp' }, '400 invalid_target'],
    ['for two audiences', { audience: OTHER, resource: RESOURCE }, '400 invalid_target'],
    ['row 78: for a scope that the client lacks', { scope: 'openid' }, '400 invalid_scope'],
    ['for a scope that the subject lacks', { scope: 'tools email' }, '400 invalid_scope'],
  ])('%s', async (_what, over, expected) => {
    const server = await delegationServer();
    const { access_token: token } = await server.login();
    expect(verdict(await exchange(server, token, over))).toBe(expected);
    expect(server.events.map(([event]) => event)).not.toContain('token_exchanged');
  });

  it.each<[string, (server: ClientServer) => Promise<unknown>]>([
    ['a refresh token', async (server) => (await server.login())['refresh_token']],
    ['an ID token', async (server) => (await server.login())['id_token']],
    [
      'a token of another issuer',
      async () => (await (await clientServer({ secrets: newSecrets() })).login())['access_token'],
    ],
    [
      'row 79: a token with alg none',
      async (server) => {
        const [, payload = ''] = String((await server.login())['access_token']).split('.');
        const header = Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url');
        return `${header}.${payload}.`;
      },
    ],
    [
      'row 79: an expired token',
      async (server) => {
        const { access_token: token } = await server.login();
        server.advance(3_601_000);
        return token;
      },
    ],
  ])('for %s as subject', async (_what, tokenOf) => {
    const server = await delegationServer();
    expect(verdict(await exchange(server, await tokenOf(server)))).toBe('400 invalid_request');
    expect(reasons(server)).toEqual(['exchange_subject']);
  });

  it.each<[string, string, string, string]>([
    ['row 78: of another audience', 'elsewhere', SECRET, '400 invalid_target'],
    ['with a wrong secret', 'batch', `${SECRET}x`, '401 invalid_client'],
    ['without the grant', 'vcl_basic', SECRET, '400 unauthorized_client'],
  ])('for a client %s', async (_what, client, secret, expected) => {
    const server = await delegationServer();
    const { access_token: token } = await server.login();
    const form = { grant_type: TOKEN_EXCHANGE, subject_token: String(token), subject_token_type: ACCESS_TOKEN };
    expect(verdict(await server.post('/oauth/token', form, basic(client, secret)))).toBe(expected);
  });

  it('for a public client, and for a login of the delegate client', async () => {
    const server = await delegationServer();
    const { access_token: token } = await server.login();
    const form = { grant_type: TOKEN_EXCHANGE, subject_token: String(token), subject_token_type: ACCESS_TOKEN };
    const asPublic = (id: string): Promise<Reply> => server.post('/oauth/token', { ...form, client_id: id });
    expect(verdict(await asPublic('vcl_public'))).toBe('400 unauthorized_client');
    expect(verdict(await asPublic('batch'))).toBe('401 invalid_client');
    const code = { grant_type: 'authorization_code', code: await server.code({ clientId: 'batch' }) };
    expect(verdict(await server.post('/oauth/token', code, basic('batch', SECRET)))).toBe('400 unauthorized_client');
    expect((await server.context.clients.find('batch', undefined)).ok).toBe(false);
  });

  it('without configured clients', async () => {
    const server = await clientServer();
    const reply = await server.post('/oauth/token', { grant_type: TOKEN_EXCHANGE }, basic('vcl_basic', SECRET));
    expect(verdict(reply)).toBe('400 unsupported_grant_type');
  });
});

it('the metadata list token exchange only with delegate clients', async () => {
  const path = '/.well-known/oauth-authorization-server';
  const [plain, delegating] = [await clientServer(), await delegationServer()];
  expect((await plain.request(path)).json['grant_types_supported']).not.toContain(TOKEN_EXCHANGE);
  expect((await delegating.request(path)).json).toMatchObject({
    grant_types_supported: ['authorization_code', 'refresh_token', TOKEN_EXCHANGE],
    token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
  });
});
