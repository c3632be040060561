import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { startRedis, type RedisServer } from '../../../e2e/harness/redis.ts';
import { blockScope } from '../../../e2e/harness/scope.ts';
import { newKey, signingClient, type Assertion, type SigningClient } from '../clients/testdata/signing-client.ts';
import { redisStore, settingsOf, single } from '../storage/testdata/redis-store.ts';
import {
  CLIENTS,
  clientServer,
  ISSUER,
  newSecrets,
  REDIRECT,
  SECRET,
  settingsFor,
  type ClientServer,
  type Reply,
  type ServerOptions,
} from './testdata/client-server.ts';

const TOKEN_URL = `${ISSUER}/oauth/token`;
const HERE = '203.0.113.7';
const CLIENT_ID = { client_id: undefined };
const LIMIT = { capacity: 10, perSecond: 10 / 60 };

const documents = {
  hosts: { allowedHosts: [], deniedHosts: [], allowLoopbackHttp: true },
  allowCrossOriginRedirects: true,
  cacheSize: 256,
  fallbackTtlMs: 300_000,
};
const base = settingsFor();
const clients = { ...base.clients, documents };

const open = (options: ServerOptions = {}): Promise<ClientServer> =>
  clientServer({ ...options, settings: { clients, ...options.settings } });

/** Starts a server that has cached the client's document. */
async function acquainted(server: ClientServer, { inline = false } = {}): Promise<SigningClient> {
  const client = await signingClient(ISSUER, { redirectUri: REDIRECT, inline });
  expect(await server.context.clients.find(client.clientId, HERE)).toMatchObject({ ok: true });
  return client;
}

/** Redeems a code with this assertion. */
async function redeem(server: ClientServer, client: SigningClient, assertion: Assertion | string = {}): Promise<Reply> {
  const code = await server.code({ clientId: client.clientId });
  return server.redeem(code, { ...CLIENT_ID, ...(await client.credentials(assertion)) });
}

const cause = (server: ClientServer): unknown => server.events.at(-1)?.[1]['cause'];
const INVALID = { status: 401, json: { error: 'invalid_client' } };

describe('a client that authenticates with private_key_jwt', () => {
  it.each([false, true])('redeems, refreshes, introspects and revokes; keys in its document: %s', async (inline) => {
    const server = await open();
    const client = await acquainted(server, { inline });
    const first = await redeem(server, client, { claims: { aud: [TOKEN_URL] } });
    expect(first).toMatchObject({ status: 200 });
    const refreshed = await server.refresh(first.json['refresh_token'], {
      ...CLIENT_ID,
      ...(await client.credentials()),
    });
    expect(refreshed).toMatchObject({ status: 200 });
    const token = String(refreshed.json['access_token']);
    const ask = async (name: string, aud = `${ISSUER}/oauth/${name}`) =>
      server.post(`/oauth/${name}`, {
        ...{ token, client_id: client.clientId },
        ...(await client.credentials({ claims: { aud } })),
      });
    expect((await ask('introspect', TOKEN_URL)).json).toMatchObject({ active: true });
    expect((await ask('introspect')).json).toMatchObject({ active: true, client_id: client.clientId });
    expect(await ask('revoke')).toMatchObject({ status: 200 });
    expect((await ask('introspect')).json).toEqual({ active: false });
    expect([client.asks('/client.json'), client.asks('/keys')]).toEqual([1, inline ? 0 : 1]);
  });

  it.each(['RS256', 'PS256', 'ES384', 'ES512', 'EdDSA'])('may sign with %s', async (alg) => {
    const server = await open();
    const client = await signingClient(ISSUER, { redirectUri: REDIRECT });
    client.state.keys = [await newKey('other', alg)];
    await server.context.clients.find(client.clientId, HERE);
    expect(await redeem(server, client, { header: { alg } })).toMatchObject({ status: 200 });
  });

  it('may omit the key id if it has one key', async () => {
    const server = await open();
    const client = await acquainted(server);
    expect(await redeem(server, client, { header: { kid: undefined } })).toMatchObject({ status: 200 });
    client.state.keys = [client.first, await newKey('k2')];
    server.advance(61_000);
    expect(await redeem(server, client, { header: { kid: undefined } })).toMatchObject(INVALID);
  });

  const foreign = newKey('k1');
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const soon = (seconds: number) => Math.floor(Date.now() / 1_000) + seconds;

  it.each<[string, string, Assertion | ((client: SigningClient) => Promise<Assertion | string>)]>([
    ['a key of another client', 'assertion_signature', async () => ({ key: (await foreign).privateKey })],
    ['an unknown key', 'assertion_key', { header: { kid: 'k9' } }],
    ['a key for another algorithm', 'assertion_key', { key: rsa.privateKey, header: { alg: 'RS256' } }],
    ['a shared secret', 'assertion_algorithm', { key: randomBytes(32), header: { alg: 'HS256' } }],
    ['a key in its own header', 'assertion_signature', async () => ({ key: (await foreign).privateKey, header: { jwk: (await foreign).jwk } })], // oxfmt-ignore
    ['no signature', 'assertion_algorithm', (client) => unsigned(client)],
    ['half of a signature', 'assertion_signature', async (client) => (await client.sign()).slice(0, -40)],
    ['another issuer', 'assertion_client', { claims: { iss: 'https://other.example/client.json' } }],
    ['the audience of another server', 'assertion_audience', { claims: { aud: 'https://other.example' } }],
    ['the audience of another endpoint', 'assertion_audience', { claims: { aud: `${ISSUER}/oauth/revoke` } }],
    ['two audiences', 'assertion_audience', { claims: { aud: [ISSUER, 'https://other.example'] } }],
    ['no expiry', 'assertion_expired', { claims: { exp: undefined } }],
    ['a past expiry', 'assertion_expired', { claims: { exp: soon(-60) } }],
    ['an expiry in an hour', 'assertion_too_long', { claims: { exp: soon(3_600) } }],
    ['a later start', 'assertion_not_yet', { claims: { nbf: soon(120) } }],
    ['no id', 'assertion_jti', { claims: { jti: undefined } }],
    ['the type of an access token', 'assertion_header', { header: { typ: 'at+jwt' } }],
  ])('is rejected for %s, with the answer for an unknown client', async (_, reason, made) => {
    const server = await open();
    const client = await acquainted(server);
    const reply = await redeem(server, client, typeof made === 'function' ? await made(client) : made);
    expect(reply).toMatchObject(INVALID);
    expect(cause(server)).toBe(reason);
    const stranger = await redeem(server, client, { claims: { iss: 'vcl_nobody', sub: 'vcl_nobody' } });
    expect(cause(server)).toBe('unknown_client');
    expect([reply.status, reply.text]).toEqual([stranger.status, stranger.text]);
    expect(reply.headers.get('www-authenticate')).toBeNull();
  });

  it('is rejected without authentication, with a secret and with another type of assertion', async () => {
    const server = await open();
    const client = await acquainted(server);
    const code = await server.code({ clientId: client.clientId });
    const as = (over: Record<string, string>) => server.redeem(code, { client_id: client.clientId, ...over });
    expect(await as({})).toMatchObject(INVALID);
    expect(await as({ client_secret: 'x' })).toMatchObject(INVALID);
    const credentials = await client.credentials();
    expect(await as({ ...credentials, client_assertion_type: 'urn:x' })).toMatchObject(INVALID);
    expect(await as({ ...credentials, client_id: 'vcl_public' })).toMatchObject(INVALID);
    expect(await as({ ...credentials, client_secret: SECRET })).toMatchObject({ status: 400 });
    expect(await as(credentials)).toMatchObject({ status: 200 });
  });

  it('must use the algorithm that its document names', async () => {
    const server = await open();
    const client = await signingClient(ISSUER, { redirectUri: REDIRECT });
    client.state.extra = { token_endpoint_auth_signing_alg: 'ES384' };
    await server.context.clients.find(client.clientId, HERE);
    expect(await redeem(server, client)).toMatchObject(INVALID);
    expect(cause(server)).toBe('assertion_algorithm');
  });

  it('row 61: gets 429 after too many failures', async () => {
    const server = await open({ settings: { limits: { ...base.limits, failuresPerClient: LIMIT } } });
    const client = await acquainted(server);
    const statuses: number[] = [];
    for (let count = 0; count < 12; count += 1)
      statuses.push((await redeem(server, client, { key: (await foreign).privateKey })).status);
    expect(statuses).toEqual([...Array<number>(10).fill(401), 429, 429]);
    expect(await redeem(server, client)).toMatchObject({ status: 429 });
  });

  it('leaves no assertion in logs and events', async () => {
    const server = await open();
    const client = await acquainted(server);
    const assertions = [await client.sign(), await client.sign({ claims: { aud: 'https://other.example' } })];
    for (const assertion of assertions) await redeem(server, client, assertion);
    await redeem(server, client, assertions[0] ?? '');
    const said = JSON.stringify([server.logged, server.events]);
    for (const part of assertions.flatMap((assertion) => assertion.split('.').slice(1)))
      expect(said).not.toContain(part);
  });
});

describe('an assertion', () => {
  it('is accepted once, even if the grant is rejected, and separately for each client', async () => {
    const server = await open();
    const [client, other] = [await acquainted(server), await acquainted(server)];
    const jti = randomUUID();
    const assertion = await client.sign({ claims: { jti } });
    expect((await server.redeem('junk', { ...CLIENT_ID, ...(await client.credentials(assertion)) })).status).toBe(400);
    expect(await redeem(server, client, assertion)).toMatchObject(INVALID);
    expect(cause(server)).toBe('assertion_replayed');
    expect(await redeem(server, client, { claims: { jti } })).toMatchObject(INVALID);
    expect(await redeem(server, other, { claims: { jti } })).toMatchObject({ status: 200 });
  });

  it('is not used up by a forged signature', async () => {
    const server = await open();
    const client = await acquainted(server);
    const jti = randomUUID();
    await redeem(server, client, { claims: { jti }, key: (await newKey('k1')).privateKey });
    expect(await redeem(server, client, { claims: { jti } })).toMatchObject({ status: 200 });
  });

  it('is remembered until it has expired', async () => {
    const server = await open();
    const client = await acquainted(server);
    const assertion = await client.sign({ claims: { exp: Math.floor(Date.now() / 1_000) + 300 } });
    expect(await redeem(server, client, assertion)).toMatchObject({ status: 200 });
    server.advance(300_000 + 25_000);
    expect(await redeem(server, client, assertion)).toMatchObject(INVALID);
    expect(cause(server)).toBe('assertion_replayed');
    server.advance(10_000);
    await redeem(server, client, assertion);
    expect(cause(server)).toBe('assertion_expired');
  });

  it('triggers no document request for the client that it names', async () => {
    const server = await open();
    const client = await signingClient(ISSUER);
    for (let count = 0; count < 20; count += 1) {
      const sub = `${client.clientId}?${String(count)}`;
      expect(await redeem(server, client, { claims: { iss: sub, sub } })).toMatchObject(INVALID);
    }
    expect(await redeem(server, client)).toMatchObject(INVALID);
    expect(client.asked).toEqual([]);
  });

  it('triggers no key request if it is invalid in another way', async () => {
    const server = await open();
    const client = await acquainted(server);
    await redeem(server, client, { claims: { aud: 'https://other.example' } });
    await redeem(server, client, { header: { alg: 'HS256' }, key: randomBytes(32) });
    expect(client.asks('/keys')).toBe(0);
  });
});

describe('keys at jwks_uri', () => {
  it('can change without a login, and are fetched at most every 30 s for unknown key ids', async () => {
    const server = await open();
    const client = await acquainted(server);
    expect(await redeem(server, client)).toMatchObject({ status: 200 });
    client.state.keys = [await newKey('k2'), client.first];
    const both = await Promise.all(Array.from({ length: 5 }, () => redeem(server, client)));
    expect(both.map(({ status }) => status)).toEqual(Array(5).fill(200));
    expect(client.asks('/keys')).toBe(2);
    for (let count = 0; count < 5; count += 1)
      expect(await redeem(server, client, { header: { kid: `k${String(count + 10)}` } })).toMatchObject(INVALID);
    expect(client.asks('/keys')).toBe(2);
    client.state.keys = client.state.keys.slice(0, 1);
    server.advance(61_000);
    const { privateKey: key, kid } = client.first;
    expect(await redeem(server, client, { key, header: { kid } })).toMatchObject(INVALID);
  });

  it('stay valid in the cache while their host is down, and clients without cached keys get 503', async () => {
    const server = await open();
    const [client, unlucky] = [await acquainted(server), await acquainted(server)];
    expect(await redeem(server, client)).toMatchObject({ status: 200 });
    for (const one of [client, unlucky]) one.state.up = false;
    for (const minutes of [1, 10, 60]) {
      server.advance(minutes * 60_000);
      const exp = Math.floor(server.context.now() / 1_000) + 60;
      expect(await redeem(server, client, { claims: { exp } })).toMatchObject({ status: 200 });
    }
    const exp = Math.floor(server.context.now() / 1_000) + 60;
    const reply = await redeem(server, unlucky, { claims: { exp } });
    expect(reply).toMatchObject({ status: 503, json: { error: 'temporarily_unavailable' } });
    expect(reply.headers.get('retry-after')).toBe('30');
  });

  it('row 44: are fetched within the limit of the client address', async () => {
    const server = await open({ settings: { limits: { ...base.limits, documentFetchesPerAddress: LIMIT } } });
    const known: SigningClient[] = [];
    for (let count = 0; count < 11; count += 1) {
      const client = await signingClient(ISSUER, { redirectUri: REDIRECT });
      await server.context.clients.find(client.clientId, `203.0.113.${String(count)}`);
      known.push(client);
    }
    const statuses: number[] = [];
    for (const client of known) statuses.push((await redeem(server, client)).status);
    expect(statuses).toEqual([...Array<number>(10).fill(200), 429]);
    expect(known[10]?.asks('/keys')).toBe(0);
  });
});

describe('metadata and registration', () => {
  it('offer the method only if documents are allowed, and never to registered clients', async () => {
    const path = '/.well-known/oauth-authorization-server';
    const { json } = await (await open()).request(path);
    for (const endpoint of ['token', 'revocation', 'introspection']) {
      expect(json[`${endpoint}_endpoint_auth_methods_supported`]).toContain('private_key_jwt');
      expect(json[`${endpoint}_endpoint_auth_signing_alg_values_supported`]).toEqual(
        expect.arrayContaining(['RS256', 'PS256', 'ES256', 'EdDSA']),
      );
    }
    const without = await clientServer();
    expect((await without.request(path)).text).not.toMatch(/private_key_jwt|auth_signing_alg/u);
    const reply = await (
      await open()
    ).request('/oauth/register', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ redirect_uris: [REDIRECT], token_endpoint_auth_method: 'private_key_jwt' }),
    });
    expect(reply).toMatchObject({ status: 400, json: { error: 'invalid_client_metadata' } });
  });

  it('reject a registered client with an assertion', async () => {
    const server = await open();
    const client = await acquainted(server);
    const sub = CLIENTS.public.client_id;
    expect(await redeem(server, client, { claims: { iss: sub, sub } })).toMatchObject(INVALID);
    expect(cause(server)).toBe('method_not_registered');
  });
});

describe('two replicas on one Redis', () => {
  const scope = blockScope();
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis(scope);
  });

  it('accept one of 40 parallel uses of an assertion, and delete its record when it has expired', async () => {
    const secrets = newSecrets();
    const replica = async (): Promise<ClientServer> => {
      const store = await redisStore(settingsOf(single(redis.port)), secrets);
      scope.defer(() => store.close());
      return open({ store, secrets });
    };
    const [one, other] = [await replica(), await replica()];
    const client = await acquainted(one);
    const credentials = await client.credentials();
    const ask = async (index: number) => {
      const server = index % 2 === 0 ? one : other;
      return server.redeem(await server.code({ clientId: client.clientId }), { ...CLIENT_ID, ...credentials });
    };
    const replies = await Promise.all(Array.from({ length: 40 }, (_, index) => ask(index)));
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(replies.filter(({ status }) => status === 401)).toHaveLength(39);
    const marks = (await redis.cli('KEYS', '*lock:assertion:*')).split('\n').filter((key) => key !== '');
    expect(marks).toHaveLength(1);
    const ttlMs = Number(await redis.cli('PTTL', marks[0] ?? ''));
    expect(ttlMs).toBeGreaterThan(90_000);
    expect(ttlMs).toBeLessThanOrEqual(121_000);
  });
});

async function unsigned(client: SigningClient): Promise<string> {
  const [, claims = ''] = (await client.sign()).split('.');
  return `${Buffer.from('{"alg":"none"}').toString('base64url')}.${claims}.`;
}
