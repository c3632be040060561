import { request as httpRequest } from 'node:http';
import { describe, expect, it } from 'vitest';
import { memoryStore } from '../storage/memory.ts';
import type { Store } from '../storage/store.ts';
import {
  clientServer,
  ISSUER,
  REDIRECT,
  settingsFor,
  type ClientServer,
  type Reply,
} from './testdata/client-server.ts';

const register = (
  server: ClientServer,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Reply> =>
  server.request('/oauth/register', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

const MINIMAL = { redirect_uris: [REDIRECT] };
const bearer = (token: unknown) => ({ headers: { authorization: `Bearer ${String(token)}` } });
const below = (uri: unknown): string => String(uri).slice(ISSUER.length);

describe('a registration', () => {
  it('creates a client that can log in, read its registration and delete it', async () => {
    const server = await clientServer();
    const made = await register(server, { ...MINIMAL, client_name: 'Tool', token_endpoint_auth_method: 'none' });
    expect(made.status).toBe(201);
    expect(made.headers.get('cache-control')).toBe('no-store');
    const { client_id: id, registration_access_token: token, registration_client_uri: uri } = made.json;
    expect(made.json).not.toHaveProperty('client_secret');
    expect(uri).toBe(`${ISSUER}/oauth/register/${String(id)}`);
    expect((await server.request(below(uri), bearer(token))).json).toEqual(made.json);
    const login = await server.login({ clientId: String(id) });
    const gone = await server.request(below(uri), { method: 'DELETE', ...bearer(token) });
    expect([gone.status, gone.text]).toEqual([204, '']);
    expect((await server.request('/oauth/userinfo', bearer(login['access_token']))).status).toBe(401);
    expect((await server.refresh(login['refresh_token'], { client_id: String(id) })).status).toBe(401);
    expect((await server.request(below(uri), bearer(token))).status).toBe(401);
    expect(server.events.map(([event]) => event)).toEqual(
      expect.arrayContaining(['client_registered', 'client_deleted']),
    );
  });

  it('leaves no login when a code is redeemed while the client is being deleted', async () => {
    const store = memoryStore(Date.now);
    let meanwhile = (): Promise<unknown> => Promise.resolve();
    const create: Store['families']['create'] = async (...args) => {
      await meanwhile();
      return store.families.create(...args);
    };
    const server = await clientServer({ store: { ...store, families: { ...store.families, create } } });
    const { client_id: id, ...made } = (await register(server, MINIMAL)).json;
    const clientId = String(id);
    const code = await server.code({ clientId });
    meanwhile = () =>
      server.request(below(made['registration_client_uri']), {
        method: 'DELETE',
        ...bearer(made['registration_access_token']),
      });
    const reply = await server.redeem(code, { client_id: clientId });
    expect([reply.status, reply.json['error']]).toEqual([401, 'invalid_client']);
    expect(await store.families.ofClient(clientId)).toEqual([]);
    expect(server.events.map(([event]) => event)).not.toContain('token_issued');
  });

  it('returns a working secret once', async () => {
    const server = await clientServer();
    const made = await register(server, { ...MINIMAL, token_endpoint_auth_method: 'client_secret_post' });
    const { client_id, client_secret, registration_client_uri: uri, registration_access_token: token } = made.json;
    expect(made.json).toMatchObject({
      client_secret: expect.stringMatching(/^vcs_[\w-]{43}$/),
      client_secret_expires_at: 0,
    });
    expect((await server.request(below(uri), bearer(token))).json).not.toHaveProperty('client_secret');
    const form = { client_id: String(client_id), client_secret: String(client_secret), token: 'x' };
    expect((await server.post('/oauth/introspect', form)).json).toEqual({ active: false });
  });

  it.each([
    [
      'row 10: http to a host that looks like this machine',
      { redirect_uris: ['http://127.0.0.1.evil.com/cb'] },
      'invalid_redirect_uri',
    ],
    [
      'row 10: http to a host that starts with localhost',
      { redirect_uris: ['http://localhost.evil.com/cb'] },
      'invalid_redirect_uri',
    ],
    ['row 10: a mapped loopback address', { redirect_uris: ['http://[::ffff:7f00:1]/cb'] }, 'invalid_redirect_uri'],
    ['row 11: javascript:', { redirect_uris: ['javascript:alert(1)'] }, 'invalid_redirect_uri'],
    ['row 11: data:', { redirect_uris: ['data:text/html,x'] }, 'invalid_redirect_uri'],
    ['row 11: file:', { redirect_uris: ['file:///etc/passwd'] }, 'invalid_redirect_uri'],
    ['row 11: mailto:', { redirect_uris: ['mailto:a@b.example'] }, 'invalid_redirect_uri'],
    ['row 46: 11 redirects', { redirect_uris: Array(11).fill(REDIRECT) }, 'invalid_redirect_uri'],
    ['row 46: a name of 300 characters', { ...MINIMAL, client_name: 'x'.repeat(300) }, 'invalid_client_metadata'],
    [
      'row 46: deep JSON',
      `{"redirect_uris":["${REDIRECT}"],"x":${'['.repeat(20_000)}${']'.repeat(20_000)}}`,
      'invalid_client_metadata',
    ],
    ['no JSON', 'redirect_uris=x', 'invalid_client_metadata'],
    ['a software statement', { ...MINIMAL, software_statement: 'x' }, 'invalid_software_statement'],
    ['a bad logout redirect', { ...MINIMAL, post_logout_redirect_uris: ['javascript:x'] }, 'invalid_client_metadata'],
  ])('is rejected for %s', async (_what, body, error) => {
    const server = await clientServer();
    const reply = await register(server, body);
    expect([reply.status, reply.json['error']]).toEqual([400, error]);
    expect(reply.json['error_description']).toEqual(expect.any(String));
  });

  it('row 46: pollutes no prototype', async () => {
    const server = await clientServer();
    const reply = await register(server, `{"__proto__":{"polluted":1},"redirect_uris":["${REDIRECT}"]}`);
    expect(reply.status).toBe(201);
    expect(Object.prototype).not.toHaveProperty('polluted');
    expect(reply.json).not.toHaveProperty('polluted');
  });

  it('stores the post-logout redirect URIs', async () => {
    const server = await clientServer();
    const uris = ['https://client.example/bye', 'http://localhost:3000/bye'];
    const reply = await register(server, { ...MINIMAL, post_logout_redirect_uris: uris });
    expect(reply.json['post_logout_redirect_uris']).toEqual(uris);
  });

  it('row 46: of 1 MB is rejected with 413, with and without Content-Length', async () => {
    const server = await clientServer();
    const reply = await register(server, `{"x":"${'x'.repeat(1_000_000)}"}`);
    expect([reply.status, reply.json['error']]).toEqual([413, 'invalid_request']);
    expect(reply.headers.get('connection')).toBe('close');
    expect(await chunked(server, 1_000)).toBe(413);
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'application/json; charset=utf-8'])(
    'is accepted as JSON only: %s',
    async (type) => {
      const reply = await register(await clientServer(), MINIMAL, { 'content-type': type });
      expect(reply.status).toBe(type.startsWith('application/json') ? 201 : 400);
      if (reply.status === 400) expect(reply.json['error']).toBe('invalid_client_metadata');
    },
  );

  it('with a content encoding is rejected', async () => {
    const reply = await register(await clientServer(), MINIMAL, { 'content-encoding': 'gzip' });
    expect([reply.status, reply.json['error']]).toEqual([400, 'invalid_client_metadata']);
  });
});

/** Sends kilobytes without Content-Length. */
const chunked = (server: ClientServer, kilobytes: number): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' };
    const req = httpRequest(`${server.url}/team/oauth/register`, { method: 'POST', headers }, (res) => {
      res.resume();
      resolve(res.statusCode);
    });
    req.on('error', reject);
    for (let count = 0; count < kilobytes; count += 1) req.write('x'.repeat(1_000));
    req.end();
  });

describe('a flood of registrations', () => {
  const usual = settingsFor().limits;

  it('row 46: is limited for one address and does not affect others', async () => {
    const server = await clientServer({
      settings: { limits: { ...usual, registrationsPerAddress: { capacity: 10, perSecond: 5 / 60 } } },
      trustedProxies: ['127.0.0.0/8'],
    });
    const from = (address: string) => register(server, MINIMAL, { 'x-forwarded-for': address });
    for (let count = 0; count < 10; count += 1) expect((await from('203.0.113.1')).status).toBe(201);
    const refused = await from('203.0.113.1');
    expect([refused.status, refused.json['error']]).toEqual([429, 'temporarily_unavailable']);
    const wait = Number(refused.headers.get('retry-after')); // 12, less what the ten have taken
    expect([wait > 0, wait <= 12]).toEqual([true, true]);
    expect((await from('203.0.113.2')).status).toBe(201);
    expect((await from('198.51.100.9, 203.0.113.1')).status).toBe(429);
    server.advance(12_000);
    expect((await from('203.0.113.1')).status).toBe(201);
  });

  it('row 50: is not hidden by an X-Forwarded-For of an untrusted peer', async () => {
    const server = await clientServer({
      settings: { limits: { ...usual, registrationsPerAddress: { capacity: 1, perSecond: 0.1 } } },
    });
    const from = (address: string) => register(server, MINIMAL, { 'x-forwarded-for': address });
    expect((await from('203.0.113.1')).status).toBe(201);
    expect((await from('203.0.113.2')).status).toBe(429);
  });

  it('counts against the overall limit instead of the limit per address if clients may share an address', async () => {
    const server = await clientServer({
      settings: {
        limits: {
          ...usual,
          registrationsPerAddress: { capacity: 1, perSecond: 0.01 },
          registrations: { capacity: 3, perSecond: 2 },
        },
      },
      addressOf: () => undefined,
    });
    const statuses = async (count: number) => {
      const replies = await Promise.all(Array.from({ length: count }, () => register(server, MINIMAL)));
      return replies.map(({ status, headers }) => [status, headers.get('retry-after')]).toSorted();
    };
    const [made, late] = [
      [201, null],
      [429, '1'],
    ];
    expect(await statuses(4)).toEqual([made, made, made, late]);
    server.advance(1_500);
    expect(await statuses(3)).toEqual([made, made, made]);
  });

  it('from many addresses is limited in total', async () => {
    const server = await clientServer({
      settings: { limits: { ...usual, registrations: { capacity: 20, perSecond: 0.1 } } },
      trustedProxies: ['127.0.0.1'],
    });
    const replies = await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        register(server, MINIMAL, { 'x-forwarded-for': `203.0.113.${String(index)}` }),
      ),
    );
    expect(replies.filter(({ status }) => status === 429).length).toBeGreaterThanOrEqual(8);
  });
});

describe('the registration of a client', () => {
  it.each([
    ['without a token', {}, 'Bearer'],
    ['with a wrong token', bearer('vra_x'), 'Bearer error="invalid_token"'],
  ])('is not returned %s, and an unknown client gets the same answer', async (_what, init, challenge) => {
    const server = await clientServer();
    for (const id of ['vcl_public', 'vcl_nobody', 'a%2Fb', '__proto__']) {
      const reply = await server.request(`/oauth/register/${id}`, init);
      expect([reply.status, reply.headers.get('www-authenticate')]).toEqual([401, challenge]);
    }
  });

  it('is not returned to another client and cannot be replaced', async () => {
    const server = await clientServer();
    const [one, other] = [await register(server, MINIMAL), await register(server, MINIMAL)];
    const uri = below(one.json['registration_client_uri']);
    expect((await server.request(uri, bearer(other.json['registration_access_token']))).status).toBe(401);
    const put = await server.request(uri, { method: 'PUT', ...bearer(one.json['registration_access_token']) });
    expect([put.status, put.headers.get('allow')]).toEqual([405, 'GET, DELETE, OPTIONS']);
  });
});
