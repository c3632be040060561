import { createHash, randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { sendBytes } from '../../harness/clients/bytes.ts';
import { raw, type RawResponse } from '../../harness/clients/raw.ts';
import { CLIENT_URL, ScriptedBrowser } from '../../harness/browser/scripted-browser.ts';
import { blockScope } from '../../harness/scope.ts';
import { startAuthServer, type Gateway } from '../auth-server/gateway.ts';
import { OAuthClient } from '../auth-server/oauth-client.ts';
import { GENEROUS } from './rates.ts';

const EVIL = 'https://evil.example';
const VERIFIER = randomBytes(32).toString('base64url');
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url');

const scope = blockScope();
let gateway: Gateway;
let client: OAuthClient;
let other: OAuthClient;

beforeAll(async () => {
  gateway = await startAuthServer(scope, { authServer: { rateLimits: GENEROUS } });
  client = await OAuthClient.register(gateway.issuer);
  other = await OAuthClient.register(gateway.issuer);
  approving = new ScriptedBrowser({ user: 'ann' });
  await approving.login(new URL(authorizeUrl()));
});

/** A browser whose user has approved the client: errors are redirected to the client. */
let approving: ScriptedBrowser;

type Changes = Readonly<Record<string, string | undefined>>;

/** Returns the URL of a valid authorization request with `changes`; `more` is appended to its query. */
function authorizeUrl(changes: Changes = {}, more = ''): string {
  const parameters: Changes = {
    response_type: 'code',
    client_id: client.client.client_id,
    redirect_uri: CLIENT_URL,
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
    state: 'state',
    ...changes,
  };
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, value);
  return `${gateway.issuer}/oauth/authorize?${query.toString()}${more}`;
}

const authorize = (changes?: Changes, more?: string): Promise<RawResponse> => raw(authorizeUrl(changes, more));

const post = (path: string, form: Readonly<Record<string, string>>, headers = {}): Promise<RawResponse> =>
  raw(`${gateway.issuer}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: new URLSearchParams(form).toString(),
  });

const redeem = (form: Readonly<Record<string, string>>): Promise<RawResponse> =>
  post('/oauth/token', {
    grant_type: 'authorization_code',
    client_id: client.client.client_id,
    redirect_uri: CLIENT_URL,
    code_verifier: VERIFIER,
    ...form,
  });

const errorOf = ({ status, body }: RawResponse): string =>
  `${String(status)} ${(JSON.parse(body) as { error: string }).error}`;

async function newCode(): Promise<string> {
  const end = await new ScriptedBrowser({ user: 'ann' }).login(new URL(authorizeUrl()));
  return end.searchParams.get('code') ?? '';
}

describe('an authorization request', () => {
  const WRONG_PLACES = [
    ...[
      `${CLIENT_URL}/`,
      `${CLIENT_URL}?`,
      `${CLIENT_URL}?a=b`,
      `${CLIENT_URL}#f`,
      `${CLIENT_URL}\0`,
      ` ${CLIENT_URL}`,
    ],
    ...['http://127.0.0.1:33418/Callback', 'http://127.0.0.1:33418/%63allback', 'http://127.0.0.1:33418/x/../callback'],
    ...['http://127.0.0.1:33418/callback%2f..', 'http://127.0.0.1:33418/\tcallback', 'http://127.0.0.1:99999/callback'],
    ...['http://localhost:33418/callback', 'http://[::1]:33418/callback', 'http://127.1:33418/callback'],
    ...['http://2130706433/callback', 'http://[::ffff:127.0.0.1]/callback', 'http://１２７.0.0.1/callback'],
    ...['http://127.0.0.1:33418@evil.example/callback', 'http://127.0.0.1:33418\\@evil.example/callback'],
    ...['http://127.0.0.1.evil.example:33418/callback', 'http://evil.127.0.0.1:33418/callback', '//127.0.0.1/callback'],
    ...['HTTP://127.0.0.1:33418/callback', 'https://127.0.0.1:33418/callback', EVIL, 'javascript:alert(1)', ''],
  ];

  it.each(WRONG_PLACES)('rows 7 to 9: does not redirect to %j', async (redirect_uri) => {
    const { status, headers, body } = await authorize({ redirect_uri });
    expect({ status, location: headers.location }).toEqual({ status: 400, location: undefined });
    expect(body).not.toContain('evil.example');
  });

  it('row 9: may use another port of this machine', async () => {
    const { status, body } = await authorize({ redirect_uri: 'http://127.0.0.1:1/callback' });
    expect({ status, asks: body.includes('127.0.0.1:1<') }).toEqual({ status: 200, asks: true });
  });

  it.each([
    ['row 12: an unknown client', { client_id: 'vcl_nobody', redirect_uri: EVIL }, ''],
    ['row 12: no client', { client_id: undefined, redirect_uri: EVIL }, ''],
    ['row 13: two clients', {}, '&client_id=vcl_other'],
    ['row 13: two redirect URIs', {}, `&redirect_uri=${EVIL}`],
  ] as const)('%s: shows a page, without a redirect', async (_what, changes, more) => {
    const { status, headers } = await authorize(changes, more);
    expect({ status, location: headers.location }).toEqual({ status: 400, location: undefined });
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
  });

  it.each([
    ['row 13: two states', {}, '&state=other', 'invalid_request'],
    ['row 14: no challenge', { code_challenge: undefined, code_challenge_method: undefined }, '', 'invalid_request'],
    ['row 14: plain', { code_challenge_method: 'plain' }, '', 'invalid_request'],
    ['row 14: a challenge without a method', { code_challenge_method: undefined }, '', 'invalid_request'],
    ['row 14: a method without a challenge', { code_challenge: undefined }, '', 'invalid_request'],
    ['row 34: another server', { resource: `${EVIL}/mcp` }, '', 'invalid_target'],
    ['row 34: two servers', { resource: `${EVIL}/mcp` }, `&resource=${EVIL}/other`, 'invalid_target'],
    ['a scope with a line break', { scope: 'openid\r\nx' }, '', 'invalid_scope'],
    ['names of the language', { scope: '__proto__ constructor' }, '&__proto__=x&toString=y', 'invalid_scope'],
  ] as const)('%s: redirects the error to the client with state and iss', async (_what, changes, more, error) => {
    const stranger = await authorize(changes, more);
    expect([stranger.status, stranger.headers.location]).toEqual([400, undefined]);
    const url = await approving.login(new URL(authorizeUrl(changes, more)));
    expect(url.href.startsWith(`${CLIENT_URL}?`)).toBe(true);
    expect(url.searchParams.get('error')).toBe(error);
    expect(url.searchParams.get('iss')).toBe(gateway.issuer);
    expect(url.searchParams.get('state')).toBe(more.includes('state') ? null : 'state');
  });

  it.each(['a\r\nX-Injected: 1', 'a\0b', '☃\u2028é', '<script>', 'a&error=b#c'])(
    'row 28: returns state %j unchanged, in the URL only',
    async (state) => {
      const url = await approving.login(new URL(authorizeUrl({ state, scope: 'nothing' })));
      expect(url.searchParams.getAll('state')).toEqual([state]);
      expect((await authorize({ state, scope: 'nothing' })).body).not.toContain('X-Injected');
    },
  );
});

describe('a code', () => {
  it.each([
    ['row 15: no verifier', { code_verifier: '' }],
    ['row 16: 42 characters', { code_verifier: 'v'.repeat(42) }],
    ['row 16: 129 characters', { code_verifier: 'v'.repeat(129) }],
    ['row 16: another verifier', { code_verifier: 'v'.repeat(43) }],
    ['row 16: other characters', { code_verifier: '☃'.repeat(43) }],
    ['row 20: another redirect URI', { redirect_uri: 'http://127.0.0.1:33419/callback' }],
  ] as const)('%s: answers invalid_grant and revokes the code', async (_what, changes) => {
    const code = await newCode();
    expect(errorOf(await redeem({ code, ...changes }))).toBe('400 invalid_grant');
    expect(errorOf(await redeem({ code }))).toBe('400 invalid_grant');
  });

  it('row 19: is revoked by an attempt of another client', async () => {
    const code = await newCode();
    expect(errorOf(await redeem({ code, client_id: other.client.client_id }))).toBe('400 invalid_grant');
    expect(errorOf(await redeem({ code }))).toBe('400 invalid_grant');
  });

  it('row 21: with a wrong tag is rejected and revokes nothing', async () => {
    const code = await newCode();
    const tampered = `${code.slice(0, -4)}AAAA`;
    for (const text of [tampered, code.split('.')[0] ?? '', `${code}.`, code.toUpperCase(), 'x'.repeat(60_000)])
      expect(errorOf(await redeem({ code: text }))).toBe('400 invalid_grant');
    expect((await redeem({ code })).status).toBe(200);
  });

  it('row 17: that is used twice revokes the tokens of its first use', async () => {
    const code = await newCode();
    const { access_token: token } = JSON.parse((await redeem({ code })).body) as { access_token: string };
    const userinfo = () => raw(`${gateway.issuer}/oauth/userinfo`, { headers: { authorization: `Bearer ${token}` } });
    expect((await userinfo()).status).toBe(200);
    expect(errorOf(await redeem({ code }))).toBe('400 invalid_grant');
    expect((await userinfo()).status).toBe(401);
  });
});

describe('the listener rejects', () => {
  const FORM = 'Content-Type: application/x-www-form-urlencoded';

  it.each([
    ['a length and chunks', ['Transfer-Encoding: chunked', 'Content-Length: 4']],
    ['two lengths', ['Content-Length: 4', 'Content-Length: 5']],
    ['an unknown coding', ['Transfer-Encoding: xchunked']],
    ['a blank before the colon', ['Transfer-Encoding : chunked']],
    ['a signed length', ['Content-Length: +4']],
    ['a folded line', ['X-A: a\r\n b']],
    ['a bare line feed', ['X-A: a\nX-B: b']],
  ] as const)('row 55: %s', async (_what, lines) => {
    const body = '0\r\n\r\nGET /oauth/authorize HTTP/1.1\r\n\r\n';
    const { status } = await sendBytes(gateway.vmcp.port, { path: '/oauth/token', lines: [FORM, ...lines], body });
    expect(status).toBe(400);
  });

  it.each([
    '/oauth//token',
    '/oauth/token/',
    '/oauth/%74oken',
    '/oauth%2ftoken',
    '//oauth/token',
    '/OAUTH/token',
    '/x/../oauth/token',
  ])('other spellings of an endpoint: %s', async (path) => {
    const { status, body } = await sendBytes(gateway.vmcp.port, {
      path,
      lines: [FORM],
      body: 'grant_type=refresh_token',
    });
    expect({ status, isOAuth: body.includes('invalid_client') }).toEqual({ status: 401, isOAuth: false });
  });

  it('row 54: 70 KiB of cookies, but not many small ones', async () => {
    const consent = `${gateway.issuer}/oauth/consent?transaction=x`;
    expect((await raw(consent, { headers: { cookie: `a=${'x'.repeat(70_000)}` } })).status).toBe(431);
    const many = Array.from({ length: 1_000 }, (_each, index) => `vmcp-flow-${String(index)}=a.b`).join('; ');
    expect((await raw(consent, { headers: { cookie: many } })).status).toBe(400);
  });

  it.each([
    '/oauth/authorize',
    '/oauth/consent',
    '/oauth/callback',
    '/oauth/token',
    '/oauth/register',
    '/oauth/logout',
  ])('row 47: %s with a foreign Host', async (path) => {
    const { status, body } = await raw(`${gateway.issuer}${path}`, { headers: { host: 'evil.example' } });
    expect({ status, quoted: body.includes('evil') }).toEqual({ status: 403, quoted: false });
  });

  it.each([
    { host: 'evil.example' },
    { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' },
    { forwarded: 'host=evil.example' },
  ])('row 49: URLs from %j', async (headers) => {
    const { body, status } = await raw(`${gateway.issuer}/.well-known/oauth-authorization-server`, { headers });
    expect(status).toBe(200);
    expect(JSON.parse(body)).toMatchObject({ issuer: gateway.issuer, token_endpoint: `${gateway.issuer}/oauth/token` });
    expect(body).not.toContain('evil');
  });
});

describe('web pages of other origins', () => {
  const ALL = [
    'authorize',
    'consent',
    'callback',
    'token',
    'register',
    'register/x',
    'revoke',
    'introspect',
    'userinfo',
    'logout',
  ];
  const OPEN: ReadonlySet<string> = new Set(['token', 'register', 'register/x', 'revoke', 'userinfo']);

  it.each(ALL)('may read %s only if it is an endpoint for programs, and never with cookies', async (name) => {
    for (const method of ['GET', 'POST', 'OPTIONS', 'TRACE', 'PUT']) {
      const headers = { origin: EVIL, 'x-http-method-override': 'POST', 'access-control-request-method': 'POST' };
      const reply = await raw(`${gateway.issuer}/oauth/${name}`, { method, headers });
      expect(reply.headers['access-control-allow-origin']).toBe(OPEN.has(name) ? '*' : undefined);
      expect(reply.headers['access-control-allow-credentials']).toBeUndefined();
      if (method === 'TRACE' || method === 'PUT') expect(reply.status).toBe(405);
      if (reply.status === 405) expect(reply.headers.allow).toBeTypeOf('string');
      if (method !== 'OPTIONS') expect(reply.headers['cache-control']).toBe('no-store');
    }
  });
});
