import { createHash } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { describe, expect, it } from 'vitest';
import { SigningKeys } from '../keys/signing-keys.ts';
import { memoryStore } from '../storage/memory.ts';
import { StoreUnavailable, type Store } from '../storage/store.ts';
import {
  basic,
  clientServer,
  ISSUER,
  newSecrets,
  RESOURCE,
  SECRET,
  silent,
  VERIFIER,
  type ClientServer,
  type Reply,
} from './testdata/client-server.ts';

const GRANT_REFUSED = { error: 'invalid_grant' };
const refusedGrant = (reply: Reply): void => {
  expect([reply.status, reply.json]).toEqual([400, expect.objectContaining(GRANT_REFUSED)]);
};
const isLive = async ({ context }: ClientServer, token: unknown): Promise<boolean> => {
  const { tsid, sub, client_id } = decodeJwt(String(token)) as Record<string, string>;
  return context.sessions.liveness.isLive({ tsid: tsid ?? '', userId: sub ?? '', clientId: client_id ?? '' });
};

describe('a code', () => {
  it('is exchanged for an access token, a refresh token and an ID token', async () => {
    const server = await clientServer();
    const code = await server.code({ familyId: 'family-1', tsid: 'tsid-1' });
    const reply = await server.redeem(code, { resource: RESOURCE });
    expect(reply.status).toBe(200);
    expect(reply.headers.get('cache-control')).toBe('no-store');
    expect(reply.headers.get('pragma')).toBe('no-cache');
    expect(reply.headers.get('x-content-type-options')).toBe('nosniff');
    expect(reply.headers.get('access-control-allow-origin')).toBe('*');
    expect(reply.json).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: 3_600,
      scope: 'openid profile tools',
      refresh_token: expect.stringMatching(/^vrt_[\w-]{43}\.[\w-]{43}$/),
      id_token: expect.any(String),
    });
    const access = String(reply.json['access_token']);
    expect(decodeProtectedHeader(access)).toMatchObject({ alg: 'ES256', typ: 'at+jwt' });
    expect(decodeJwt(access)).toMatchObject({
      ...{ iss: ISSUER, sub: 'user-1', aud: RESOURCE, client_id: 'vcl_public', tsid: 'tsid-1', name: 'Ann' },
      scope: 'openid profile tools',
    });
    const idToken = decodeJwt(String(reply.json['id_token']));
    const half = createHash('sha256').update(access).digest().subarray(0, 16).toString('base64url');
    expect(idToken).toMatchObject({ aud: 'vcl_public', nonce: 'nonce of the client', sid: 'family-1', at_hash: half });
    expect(idToken).toHaveProperty('auth_time');
    expect(idToken).not.toHaveProperty('tsid');
    expect(await isLive(server, access)).toBe(true);
    expect(server.events.map(([event]) => event)).toEqual(['token_issued']);
  });

  it('yields no ID token without openid, and no refresh token without the registered grant', async () => {
    const server = await clientServer();
    const reply = await server.login({ clientId: 'vcl_code', scopes: ['tools'] });
    expect(reply).not.toHaveProperty('id_token');
    expect(reply).not.toHaveProperty('refresh_token');
    const refused = await server.refresh('vrt_x', { client_id: 'vcl_code' });
    expect([refused.status, refused.json['error']]).toEqual([400, 'unauthorized_client']);
  });

  it('extends the upstream tokens to the lifetime of the login', async () => {
    const server = await clientServer();
    await server.login({ tsid: 'tsid-1' });
    server.advance(6 * 24 * 3_600_000);
    expect(await server.context.store.upstreamTokens.all('tsid-1')).toHaveLength(1);
  });

  it('extends the lifetime of a registered client', async () => {
    const server = await clientServer();
    await server.login();
    server.advance(25 * 3_600_000);
    expect(await server.context.clients.known('vcl_public')).toBeDefined();
    expect(await server.context.clients.known('vcl_other')).toBeUndefined();
  });

  it('takes four store calls and two reads of the client', async () => {
    const calls: string[] = [];
    const store = counted(memoryStore(Date.now), calls);
    const server = await clientServer({ store });
    const code = await server.code();
    calls.length = 0;
    expect((await server.redeem(code)).status).toBe(200);
    expect(calls.toSorted()).toEqual([
      ...['clients.get', 'clients.get', 'clients.renew', 'codes.take', 'families.create', 'upstreamTokens.extend'],
    ]);
    calls.length = 0;
    expect((await server.redeem(await server.code())).status).toBe(200);
    expect(calls).not.toContain('clients.renew');
  });
});

/** Store that records its calls. */
function counted(store: Store, calls: string[]): Store {
  const watch = <Part extends object>(part: Part, name: string): Part =>
    new Proxy(part, {
      get: (target, member) => {
        const value: unknown = Reflect.get(target, member);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]): unknown => {
          calls.push(`${name}.${String(member)}`);
          return Reflect.apply(value, target, args) as unknown;
        };
      },
    });
  const { loginAttempts, users, locks, live, health, close, registrations } = store;
  return {
    ...{ loginAttempts, users, locks, live, health, close, registrations },
    codes: watch(store.codes, 'codes'),
    families: watch(store.families, 'families'),
    clients: watch(store.clients, 'clients'),
    upstreamTokens: watch(store.upstreamTokens, 'upstreamTokens'),
    rates: watch(store.rates, 'rates'),
  };
}

describe('a code is rejected', () => {
  it.each([
    ['row 15: without a verifier', { code_verifier: undefined }],
    ['row 16: with a verifier of 42 characters', { code_verifier: 'v'.repeat(42) }],
    ['row 16: with a verifier of 129 characters', { code_verifier: 'v'.repeat(129) }],
    ['row 16: with another verifier', { code_verifier: 'w'.repeat(43) }],
    ['row 16: with a verifier of other characters', { code_verifier: `${'v'.repeat(42)}+` }],
    ['row 19: to another client', { client_id: 'vcl_other' }],
    ['row 20: with another redirect_uri', { redirect_uri: 'https://client.example/cb2' }],
  ])('%s, and cannot be used again', async (_what, over) => {
    const server = await clientServer();
    const code = await server.code();
    refusedGrant(await server.redeem(code, over));
    refusedGrant(await server.redeem(code));
    expect(server.events.map(([event]) => event)).not.toContain('token_issued');
  });

  it.each([
    ['of another server', 'https://other.example/mcp'],
    ['that is no URL', 'not a url'],
  ])('row 34: with a resource %s', async (_what, resource) => {
    const server = await clientServer();
    const reply = await server.redeem(await server.code(), { resource });
    expect([reply.status, reply.json['error']]).toEqual([400, 'invalid_target']);
  });

  it('without redirect_uri when the client has several', async () => {
    const server = await clientServer();
    const over = { redirect_uri: undefined };
    const code = await server.code({ clientId: 'vcl_two' });
    refusedGrant(await server.redeem(code, { ...over, client_id: 'vcl_two' }));
    expect((await server.redeem(await server.code(), over)).status).toBe(200);
  });

  it('row 21: that has expired', async () => {
    const server = await clientServer();
    const code = await server.code({ expiresAt: Date.now() - 1 });
    refusedGrant(await server.redeem(code));
  });

  it('rows 21 and 71: with a wrong tag, without a store call', async () => {
    const calls: string[] = [];
    const server = await clientServer({ store: counted(memoryStore(Date.now), calls) });
    const other = await clientServer({ secrets: newSecrets() });
    const code = await server.code();
    calls.length = 0;
    for (const forged of [code.replace(/.$/, (end) => (end === 'A' ? 'B' : 'A')), await other.code(), 'vac_x', 'x'])
      refusedGrant(await server.redeem(forged));
    for (const forged of ['x', `vrt_${'a'.repeat(43)}.${'a'.repeat(43)}`]) refusedGrant(await server.refresh(forged));
    expect(new Set(calls)).toEqual(new Set(['clients.get', 'rates.take']));
    expect((await server.redeem(code)).status).toBe(200);
  });

  it('row 17: a second time, which ends the login of the first use', async () => {
    const server = await clientServer();
    const code = await server.code({ tsid: 'tsid-1', familyId: 'family-1' });
    const first = (await server.redeem(code)).json;
    expect(await isLive(server, first['access_token'])).toBe(true);
    refusedGrant(await server.redeem(code));
    expect(await isLive(server, first['access_token'])).toBe(false);
    refusedGrant(await server.refresh(first['refresh_token']));
    expect(await server.context.store.upstreamTokens.all('tsid-1')).toEqual([]);
    expect(server.events).toContainEqual(['code_replay', { client_id: 'vcl_public', family: 'family-1' }]);
  });

  it('with a wrong verifier in 100 parallel requests, and cannot be used again', async () => {
    const server = await clientServer();
    const code = await server.code();
    const wrong = { code_verifier: 'w'.repeat(43) };
    const replies = await Promise.all(Array.from({ length: 100 }, () => server.redeem(code, wrong)));
    for (const reply of replies) refusedGrant(reply);
    refusedGrant(await server.redeem(code));
    expect((await server.redeem(await server.code())).status).toBe(200);
  });
});

describe('a refresh token', () => {
  it('is exchanged for new tokens and its successor', async () => {
    const server = await clientServer();
    const first = await server.login();
    const second = await server.refresh(first['refresh_token'], { resource: RESOURCE });
    expect(second.status).toBe(200);
    expect(second.json['scope']).toBe('openid profile tools');
    expect(second.json['refresh_token']).not.toBe(first['refresh_token']);
    expect(second.json['access_token']).not.toBe(first['access_token']);
    expect(decodeJwt(String(second.json['id_token']))).not.toHaveProperty('nonce');
    expect((await server.refresh(second.json['refresh_token'])).status).toBe(200);
    expect(server.events.filter(([event]) => event === 'token_refreshed')).toHaveLength(2);
  });

  it('may narrow the scope of one access token, not of the grant', async () => {
    const server = await clientServer();
    const first = await server.login();
    const narrow = await server.refresh(first['refresh_token'], { scope: 'tools' });
    expect(narrow.json['scope']).toBe('tools');
    expect(narrow.json).not.toHaveProperty('id_token');
    expect((await server.refresh(narrow.json['refresh_token'])).json['scope']).toBe('openid profile tools');
  });

  it.each([
    ['to another client', { client_id: 'vcl_other' }, 'invalid_grant'],
    ['for a wider scope', { scope: 'tools email' }, 'invalid_scope'],
    ['for another resource', { resource: 'https://other.example/mcp' }, 'invalid_target'],
    ['for two resources', `resource=${RESOURCE}&resource=${RESOURCE}`, 'invalid_target'],
  ])('rows 24 and 34: is rejected %s, and stays valid', async (_what, over, error) => {
    const server = await clientServer();
    const { refresh_token: token } = await server.login();
    const form = `grant_type=refresh_token&client_id=vcl_public&refresh_token=${String(token)}`;
    const reply =
      typeof over === 'string'
        ? await server.post('/oauth/token', `${form}&${over}`)
        : await server.refresh(token, over);
    expect([reply.status, reply.json['error']]).toEqual([400, error]);
    expect((await server.refresh(token)).status).toBe(200);
  });

  it('row 22: is rejected after the grace window, and the login ends', async () => {
    const server = await clientServer();
    const first = await server.login({ familyId: 'family-1', tsid: 'tsid-1' });
    const second = await server.refresh(first['refresh_token']);
    server.advance(61_000);
    refusedGrant(await server.refresh(first['refresh_token']));
    refusedGrant(await server.refresh(second.json['refresh_token']));
    expect(await isLive(server, second.json['access_token'])).toBe(false);
    expect(await server.context.store.upstreamTokens.all('tsid-1')).toEqual([]);
    const facts = { client_id: 'vcl_public', sub: 'user-1', family: 'family-1' };
    expect(server.events).toContainEqual(['refresh_reuse', facts]);
  });

  it('is accepted once without a grace window', async () => {
    const server = await clientServer({ settings: { refreshGraceMs: 0 } });
    const first = await server.login();
    expect((await server.refresh(first['refresh_token'])).status).toBe(200);
    refusedGrant(await server.refresh(first['refresh_token']));
  });

  it('is rejected after the first provider has ended its grant', async () => {
    const server = await clientServer();
    const { refresh_token: token } = await server.login({ tsid: 'tsid-1' });
    const row = await server.context.store.upstreamTokens.get('tsid-1', 'idp');
    if (!row) throw new Error('no row');
    await server.context.store.upstreamTokens.put({ ...row, dead: true }, 3_600_000);
    refusedGrant(await server.refresh(token));
  });

  it('is rejected after its client was deleted', async () => {
    const server = await clientServer();
    const { refresh_token: token } = await server.login();
    await server.context.store.clients.delete('vcl_public');
    const reply = await server.refresh(token);
    expect([reply.status, reply.json['error']]).toEqual([401, 'invalid_client']);
  });

  it('expires with the login after 30 days, even in constant use', async () => {
    const server = await clientServer();
    let token = (await server.login())['refresh_token'];
    for (let day = 0; day < 29; day += 1) {
      server.advance(24 * 3_600_000);
      const reply = await server.refresh(token);
      expect(reply.status).toBe(200);
      token = reply.json['refresh_token'];
    }
    server.advance(24 * 3_600_000);
    refusedGrant(await server.refresh(token));
  });
});

describe('client authentication', () => {
  const form = { grant_type: 'refresh_token', refresh_token: 'x' };

  it.each([
    ['no client_id', {}, {}, null],
    ['an unknown client', { client_id: 'vcl_nobody' }, {}, null],
    ['a secret of a public client', { client_id: 'vcl_public', client_secret: 'x' }, {}, null],
    ['a confidential client without its secret', { client_id: 'vcl_post' }, {}, null],
    ['a wrong secret', { client_id: 'vcl_post', client_secret: 'x' }, {}, null],
    ['a secret in the wrong place', { client_id: 'vcl_basic', client_secret: SECRET }, {}, null],
    ['a wrong secret in the header', {}, basic('vcl_basic', 'x'), 'Basic realm="oauth"'],
    ['an unknown client in the header', {}, basic('vcl_nobody', 'x'), 'Basic realm="oauth"'],
    ['a header of another kind', {}, { authorization: 'Bearer abc' }, 'Basic realm="oauth"'],
    ['an assertion', { client_id: 'vcl_public', client_assertion: 'x' }, {}, null],
  ])('rejects %s with 401 invalid_client', async (_what, credentials, headers, challenge) => {
    const server = await clientServer();
    const reply = await server.post('/oauth/token', { ...form, ...credentials }, headers);
    expect([reply.status, reply.json['error']]).toEqual([401, 'invalid_client']);
    expect(reply.headers.get('www-authenticate')).toBe(challenge);
  });

  it('row 60: gives the same answer for an unknown client and a wrong secret', async () => {
    const server = await clientServer();
    const wrong = await server.post('/oauth/token', { ...form, client_id: 'vcl_post', client_secret: 'x' });
    const unknown = await server.post('/oauth/token', { ...form, client_id: 'vcl_none', client_secret: 'x' });
    const comparable = ({ status, text, headers }: Reply) => [
      status,
      text,
      [...headers].filter(([name]) => name !== 'date'),
    ];
    expect(comparable(unknown)).toEqual(comparable(wrong));
  });

  it('rejects two authentication methods in one request', async () => {
    const server = await clientServer();
    const both = { ...form, client_id: 'vcl_basic', client_secret: SECRET };
    const reply = await server.post('/oauth/token', both, basic('vcl_basic', SECRET));
    expect([reply.status, reply.json['error']]).toEqual([400, 'invalid_request']);
  });

  it.each(['vcl_basic', 'vcl_post'])('accepts %s with its registered method', async (clientId) => {
    const server = await clientServer();
    expect(await server.login({ clientId })).toHaveProperty('refresh_token');
  });

  it('row 61: rejects the right secret too after 10 wrong ones in a minute', async () => {
    const limits = (await clientServer()).context.settings.limits;
    const server = await clientServer({
      settings: { limits: { ...limits, failuresPerClient: { capacity: 10, perSecond: 10 / 60 } } },
    });
    const attempt = (secret: string) => server.post('/oauth/token', form, basic('vcl_basic', secret));
    for (let count = 0; count < 10; count += 1) expect((await attempt('wrong')).status).toBe(401);
    for (const secret of ['wrong', SECRET]) {
      const reply = await attempt(secret);
      expect([reply.status, reply.json['error']]).toEqual([429, 'temporarily_unavailable']);
      expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
    }
    server.advance(60_000);
    refusedGrant(await attempt(SECRET));
    expect(server.events.map(([event]) => event)).toContain('rate_limited');
  });

  it('row 61: locks out no client by wrong secrets if clients may share an address', async () => {
    const limits = (await clientServer()).context.settings.limits;
    const server = await clientServer({
      settings: { limits: { ...limits, failuresPerClient: { capacity: 10, perSecond: 10 / 60 } } },
      addressOf: () => undefined,
    });
    const attempt = (secret: string) => server.post('/oauth/token', form, basic('vcl_basic', secret));
    for (let count = 0; count < 10; count += 1) expect((await attempt('wrong')).status).toBe(401);
    expect((await attempt('wrong')).status).toBe(429);
    refusedGrant(await attempt(SECRET));
  });

  it('row 61: rejects wrong codes after 10 of them, but accepts a valid code from the same address', async () => {
    const limits = (await clientServer()).context.settings.limits;
    const server = await clientServer({
      settings: { limits: { ...limits, failuresPerClient: { capacity: 10, perSecond: 10 / 60 } } },
    });
    for (let count = 0; count < 10; count += 1) refusedGrant(await server.redeem('vac_guess'));
    expect((await server.redeem('vac_guess')).status).toBe(429);
    expect((await server.redeem(await server.code())).status).toBe(200);
    refusedGrant(await server.redeem('vac_guess', { client_id: 'vcl_other' }));
  });

  it('answers invalid_client or invalid_grant to every client with a lost registration or token, even many at one address', async () => {
    const store = memoryStore(Date.now);
    const before = await clientServer({ store });
    const limits = { ...before.context.settings.limits, failuresPerClient: { capacity: 1, perSecond: 1 / 60 } };
    const { refresh_token: lost } = await before.login();
    const after = await clientServer({ store, settings: { limits } });
    for (let count = 0; count < 3; count += 1) refusedGrant(await after.refresh(lost));
    const unknown = {
      grant_type: 'refresh_token',
      refresh_token: String(lost),
      client_id: 'https://app.example/client',
    };
    for (let count = 0; count < 3; count += 1) {
      const reply = await after.post('/oauth/token', unknown);
      expect([reply.status, reply.json['error']]).toEqual([401, 'invalid_client']);
    }
  });
});

describe('a token request', () => {
  it.each([
    ['no grant_type', 'client_id=vcl_public', 400, 'invalid_request'],
    ['an unknown grant', 'grant_type=password&client_id=vcl_public', 400, 'unsupported_grant_type'],
    ['token exchange', 'grant_type=urn:ietf:params:oauth:grant-type:token-exchange', 400, 'unsupported_grant_type'],
    ['no code', 'grant_type=authorization_code&client_id=vcl_public', 400, 'invalid_request'],
    ['no refresh token', 'grant_type=refresh_token&client_id=vcl_public', 400, 'invalid_request'],
    ['a repeated code', 'grant_type=authorization_code&client_id=vcl_public&code=a&code=b', 400, 'invalid_request'],
    ['a repeated client_id', 'grant_type=refresh_token&client_id=vcl_public&client_id=x', 400, 'invalid_request'],
  ])('with %s is rejected', async (_what, form, status, error) => {
    const server = await clientServer();
    const reply = await server.post('/oauth/token', form);
    expect([reply.status, reply.json['error']]).toEqual([status, error]);
  });

  it('ignores parameters in the query', async () => {
    const server = await clientServer();
    const query = new URLSearchParams({ grant_type: 'authorization_code', code: await server.code() });
    const reply = await server.post(`/oauth/token?${query.toString()}&client_id=vcl_public`, '');
    expect([reply.status, reply.json['error']]).toEqual([400, 'invalid_request']);
  });

  it('row 67: is answered with 503 when the store is down', async () => {
    const store = memoryStore(Date.now);
    const server = await clientServer({
      store: {
        ...store,
        codes: { ...store.codes, take: () => Promise.reject(new StoreUnavailable('host redis:6379')) },
      },
    });
    const reply = await server.redeem(await server.code());
    expect([reply.status, reply.json['error']]).toEqual([503, 'temporarily_unavailable']);
    expect(reply.headers.get('retry-after')).toBe('5');
    expect(reply.text).not.toContain('redis');
  });

  it('rows 57 and 58: leaves no secret in logs and events', async () => {
    const server = await clientServer();
    const code = await server.code({ tsid: 'tsid-canary' });
    const first = (await server.redeem(code)).json;
    const second = (await server.refresh(first['refresh_token'])).json;
    await server.redeem(code);
    await server.post('/oauth/token', { grant_type: 'refresh_token', refresh_token: 'x' }, basic('vcl_basic', SECRET));
    const text = JSON.stringify([server.events, server.logged]);
    for (const secret of [code, first['refresh_token'], second['refresh_token'], first['access_token'], 'tsid-canary'])
      expect(text).not.toContain(String(secret));
    expect(text).not.toContain(SECRET);
    expect(text).not.toContain(VERIFIER);
  });
});

it('row 71: rejects old codes and refresh tokens after a restart with other keys, with invalid_grant', async () => {
  const warnings: string[] = [];
  const log = { ...silent, warn: (message: string) => void warnings.push(message) };
  const store = memoryStore(Date.now);
  const before = await clientServer({ store });
  const { refresh_token: token } = await before.login();
  const code = await before.code();
  const after = await clientServer({ store, keys: new SigningKeys({ files: [], log }) });
  refusedGrant(await after.redeem(code));
  refusedGrant(await after.refresh(token));
  expect(warnings).toHaveLength(1);
});
