import { randomBytes } from 'node:crypto';
import { get } from 'node:http';
import { decodeJwt, SignJWT } from 'jose';
import { beforeEach, describe, expect, it } from 'vitest';
import { SigningKeys, newSigningKey } from '../keys/signing-keys.ts';
import {
  basic,
  clientServer,
  ISSUER,
  RESOURCE,
  SECRET,
  silent,
  type ClientServer,
  type Reply,
} from './testdata/client-server.ts';

let server: ClientServer;
let login: Reply['json'];
beforeEach(async () => {
  server = await clientServer();
  login = await server.login({ familyId: 'family-1', tsid: 'tsid-1' });
});

const bearer = (token: unknown) => ({ headers: { authorization: `Bearer ${String(token)}` } });
const userinfo = (token: unknown): Promise<Reply> => server.request('/oauth/userinfo', bearer(token));
const revoke = (token: unknown, client = 'vcl_public', more = {}): Promise<Reply> =>
  server.post('/oauth/revoke', { token: String(token), client_id: client, ...more });
const introspect = (token: unknown): Promise<Reply> =>
  server.post('/oauth/introspect', { token: String(token) }, basic('vcl_basic', SECRET));

describe('revocation', () => {
  it.each(['access_token', 'refresh_token'])('of an %s ends the whole login', async (kind) => {
    const reply = await revoke(login[kind], 'vcl_public', { token_type_hint: 'refresh_token' });
    expect(reply.status).toBe(200);
    expect((await userinfo(login['access_token'])).status).toBe(401);
    expect((await server.refresh(login['refresh_token'])).status).toBe(400);
    expect(await server.context.store.upstreamTokens.all('tsid-1')).toEqual([]);
    expect(server.events).toContainEqual(['revoked', { client_id: 'vcl_public', family: 'family-1' }]);
  });

  it('of a used refresh token ends the login too', async () => {
    const next = await server.refresh(login['refresh_token']);
    expect((await revoke(login['refresh_token'])).status).toBe(200);
    expect((await server.refresh(next.json['refresh_token'])).status).toBe(400);
  });

  it("row 26: of another client's token changes nothing", async () => {
    for (const token of [login['access_token'], login['refresh_token']])
      expect((await revoke(token, 'vcl_other')).status).toBe(200);
    expect((await userinfo(login['access_token'])).status).toBe(200);
    expect((await server.refresh(login['refresh_token'])).status).toBe(200);
  });

  it.each(['junk', 'vrt_x', 'a.b.c', `vrt_${'a'.repeat(43)}.${'a'.repeat(43)}`])(
    'of the invalid token %s succeeds',
    async (token) => {
      expect((await revoke(token)).status).toBe(200);
    },
  );

  it('requires a token and a client', async () => {
    expect((await server.post('/oauth/revoke', { client_id: 'vcl_public' })).json['error']).toBe('invalid_request');
    expect((await revoke('x', 'vcl_nobody')).status).toBe(401);
    expect((await revoke('x', 'vcl_post')).status).toBe(401);
    expect((await revoke('x', 'vcl_post', { client_secret: SECRET })).status).toBe(200);
  });
});

describe('introspection', () => {
  it('describes an access token of this client', async () => {
    const own = await server.login({ clientId: 'vcl_basic', scopes: ['tools'] });
    const reply = await introspect(own['access_token']);
    expect(reply.headers.get('cache-control')).toBe('no-store');
    const { exp, iat, jti } = decodeJwt(String(own['access_token']));
    expect(reply.json).toEqual({
      ...{ active: true, token_type: 'Bearer', iss: ISSUER, client_id: 'vcl_basic', sub: 'user-1' },
      ...{ aud: RESOURCE, scope: 'tools', exp, iat, jti },
    });
  });

  it('describes a refresh token of this client while it is the latest one', async () => {
    const own = await server.login({ clientId: 'vcl_basic' });
    expect((await introspect(own['refresh_token'])).json).toMatchObject({
      ...{ active: true, client_id: 'vcl_basic', sub: 'user-1', scope: 'openid profile tools' },
    });
    await server.post(
      '/oauth/token',
      { grant_type: 'refresh_token', refresh_token: String(own['refresh_token']) },
      basic('vcl_basic', SECRET),
    );
    expect((await introspect(own['refresh_token'])).json).toEqual({ active: false });
  });

  it('row 27: reports tokens of other clients, invalid tokens and ended logins as inactive', async () => {
    const own = await server.login({ clientId: 'vcl_basic' });
    await server.post('/oauth/revoke', { token: String(own['refresh_token']) }, basic('vcl_basic', SECRET));
    const tokens = [login['access_token'], login['refresh_token'], login['id_token'], 'junk', own['access_token']];
    for (const token of [...tokens, own['refresh_token']])
      expect((await introspect(token)).json).toEqual({ active: false });
  });

  it('row 27: rejects public clients', async () => {
    const reply = await server.post('/oauth/introspect', { token: 'x', client_id: 'vcl_public' });
    expect([reply.status, reply.json['error']]).toEqual([401, 'invalid_client']);
    expect(reply.headers.get('www-authenticate')).toBe('Basic realm="oauth"');
  });
});

describe('userinfo', () => {
  it('returns the claims that the scopes allow', async () => {
    for (const method of ['GET', 'POST']) {
      const reply = await server.request('/oauth/userinfo', { method, ...bearer(login['access_token']) });
      expect([reply.status, reply.json]).toEqual([200, { sub: 'user-1', name: 'Ann' }]);
      expect(reply.headers.get('cache-control')).toBe('no-store');
    }
  });

  it('uses the scopes of the token, not of the login', async () => {
    const narrow = await server.refresh(login['refresh_token'], { scope: 'openid' });
    expect((await userinfo(narrow.json['access_token'])).json).toEqual({ sub: 'user-1' });
    const none = await server.refresh(narrow.json['refresh_token'], { scope: 'tools' });
    const reply = await userinfo(none.json['access_token']);
    expect([reply.status, reply.json['error']]).toEqual([403, 'insufficient_scope']);
    expect(reply.headers.get('www-authenticate')).toMatch(/^Bearer scope="openid", error="insufficient_scope", /);
  });

  it('row 39: rejects ID tokens, refresh tokens and tokens of another key', async () => {
    const stranger = newSigningKey();
    const forged = await new SignJWT(decodeJwt(String(login['access_token'])))
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: stranger.kid })
      .sign(stranger.privateKey);
    const others = [login['id_token'], login['refresh_token'], forged, `gho_${randomBytes(20).toString('hex')}`];
    for (const token of others) {
      const reply = await userinfo(token);
      expect([reply.status, reply.json['error']]).toEqual([401, 'invalid_token']);
      expect(reply.headers.get('www-authenticate')).toMatch(/^Bearer error="invalid_token"/);
    }
  });

  it('rejects an expired token and one with the tsid of another login', async () => {
    const other = await server.login({ tsid: 'tsid-2', login: { userId: 'user-2', authTime: 0 } });
    expect(decodeJwt(String(other['access_token']))['tsid']).toBe('tsid-2');
    const claims = { ...decodeJwt(String(login['access_token'])), tsid: 'tsid-2' };
    const swapped = await server.context.keys.signer().sign('at+jwt', claims);
    expect((await userinfo(swapped)).status).toBe(401); // row 41
    server.advance(3_601_000);
    expect((await userinfo(login['access_token'])).status).toBe(401);
  });

  it.each([
    ['row 54: a list of tokens', 'Bearer a, Bearer b', 401],
    ['row 54: Bearer twice', 'Bearer Bearer a', 400],
    ['no token', 'Bearer ', 400],
    ['another scheme', 'Basic YTpi', 401],
  ])('rejects an Authorization header with a bad value: %s', async (_what, authorization, status) => {
    const reply = await server.request('/oauth/userinfo', { headers: { authorization } });
    expect(reply.status).toBe(status);
    expect(reply.headers.get('www-authenticate')).toMatch(/^Bearer/);
  });

  it('row 54: rejects two Authorization headers', async () => {
    for (const path of ['userinfo', 'register/vcl_public']) {
      const status = await new Promise((resolve, reject) => {
        const headers = { authorization: [`Bearer ${String(login['access_token'])}`, 'Bearer b'] };
        const req = get(`${server.url}/team/oauth/${path}`, { headers: headers as never }, (res) => {
          resolve(res.resume().statusCode);
        });
        req.on('error', reject);
      });
      expect(status).toBe(400);
    }
  });

  it('row 54: ignores a token in the query', async () => {
    const reply = await server.request(`/oauth/userinfo?access_token=${String(login['access_token'])}`);
    expect([reply.status, reply.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
  });
});

it('row 71: rejects a token of a generated key after a restart', async () => {
  const { store } = server.context;
  const after = await clientServer({ store, keys: new SigningKeys({ files: [], log: silent }) });
  expect((await after.request('/oauth/userinfo', bearer(login['access_token']))).status).toBe(401);
});
