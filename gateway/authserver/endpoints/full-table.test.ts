import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { MAX_CLIENT_ID_LENGTH } from '../core/authorization.ts';
import type { SecretRing } from '../core/opaque-token.ts';
import { memoryStore } from '../storage/memory.ts';
import {
  basic,
  clientServer,
  newSecrets,
  REDIRECT,
  settingsFor,
  type ClientServer,
  type Reply,
  type ServerOptions,
} from './testdata/client-server.ts';

// Rows 114 and 115: an attacker who fills the table of clients keeps nobody out.

const HOUR_MS = 3_600_000;
const MINIMAL = { redirect_uris: [REDIRECT] };
/** Room for the six clients of the test server and two more. */
const SMALL = { clients: { ...settingsFor().clients, maxRegistered: 8 } };

const register = (server: ClientServer, body: unknown = MINIMAL): Promise<Reply> =>
  server.request('/oauth/register', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

/** A server whose table of clients an attacker has filled. */
async function fullServer(options: ServerOptions = {}): Promise<ClientServer> {
  const server = await clientServer({ settings: SMALL, ...options });
  for (let count = 0; count < 12; count += 1) expect((await register(server)).status).toBe(201);
  return server;
}

const idOf = ({ json }: Reply): string => String(json['client_id']);
const bearer = (token: unknown) => ({ headers: { authorization: `Bearer ${String(token)}` } });

/** Reads (or deletes) a registration with its own token. */
const managed = (server: ClientServer, { json }: Reply, method: 'GET' | 'DELETE'): Promise<Reply> =>
  server.request(`/oauth/register/${String(json['client_id'])}`, {
    method,
    ...bearer(json['registration_access_token']),
  });

/** Redeems a code of a client that does not exist, or not any more. */
async function refusedLogin(server: ClientServer, clientId: string): Promise<readonly unknown[]> {
  const code = await server.code({ clientId });
  const { status, json } = await server.redeem(code, { client_id: clientId });
  return [status, json];
}

const UNKNOWN = [401, expect.objectContaining({ error: 'invalid_client' })];

describe('row 114: while the table of clients is full', () => {
  it('everybody can register and log in, however long the flood goes on', async () => {
    const server = await fullServer();
    const honest = await register(server, { ...MINIMAL, client_name: 'Tool' });
    expect(honest.status).toBe(201);
    for (let count = 0; count < 20; count += 1) {
      server.advance(5 * 60_000);
      expect((await register(server)).status).toBe(201);
    }
    const { refresh_token: token } = await server.login({ clientId: idOf(honest) });
    expect((await server.refresh(token, { client_id: idOf(honest) })).status).toBe(200);
  });

  it('registrations beyond the limit take no room in the store until they are used', async () => {
    const store = memoryStore(Date.now);
    const server = await fullServer({ store });
    expect(await store.clients.count()).toBe(8);
    const honest = await register(server);
    expect(await store.clients.get(idOf(honest))).toBeUndefined();
    await server.code({ clientId: idOf(honest) }); // a login that stops before the tokens
    expect(await store.clients.get(idOf(honest))).toBeUndefined();
    await server.login({ clientId: idOf(honest) });
    expect(await store.clients.get(idOf(honest))).toMatchObject({ source: 'registered' });
    expect(await store.clients.count()).toBe(9);
  });

  it('a client in the table and its login stay', async () => {
    const server = await clientServer({ settings: SMALL });
    const early = await register(server);
    const login = await server.login({ clientId: idOf(early) });
    const waiting = await register(server);
    for (let count = 0; count < 20; count += 1) await register(server);
    server.advance(45 * 60_000); // longer than a login attempt
    for (let count = 0; count < 20; count += 1) await register(server);
    expect((await server.refresh(login['refresh_token'], { client_id: idOf(early) })).status).toBe(200);
    expect(await server.login({ clientId: idOf(waiting) })).toHaveProperty('access_token');
  });

  it('a client gets its secret, which works, and no wrong one does', async () => {
    const server = await fullServer();
    const made = await register(server, { ...MINIMAL, token_endpoint_auth_method: 'client_secret_basic' });
    const [id, secret] = [idOf(made), String(made.json['client_secret'])];
    const introspect = (given: string) => server.post('/oauth/introspect', { token: 'x' }, basic(id, given));
    expect((await introspect(secret)).json).toEqual({ active: false });
    expect((await introspect(`${secret}x`)).json).toMatchObject({ error: 'invalid_client' });
    expect((await server.post('/oauth/introspect', { token: 'x', client_id: id })).status).toBe(401);
  });

  it('a client reads its registration with its own token only', async () => {
    const server = await fullServer();
    const [one, other] = [await register(server, { ...MINIMAL, client_name: 'Tool' }), await register(server)];
    expect((await managed(server, one, 'GET')).json).toEqual(one.json);
    const foreign = { json: { ...one.json, registration_access_token: other.json['registration_access_token'] } };
    expect((await managed(server, { ...one, ...foreign }, 'GET')).status).toBe(401);
  });

  it.each([
    ['before its first login', false],
    ['with a login', true],
  ])('a client that is deleted %s does not return', async (_when, used) => {
    const server = await fullServer();
    const made = await register(server);
    const login = used ? await server.login({ clientId: idOf(made) }) : {};
    expect((await managed(server, made, 'DELETE')).status).toBe(204);
    expect((await managed(server, made, 'GET')).status).toBe(401);
    expect(await refusedLogin(server, idOf(made))).toEqual(UNKNOWN);
    expect(JSON.stringify(await server.context.store.clients.get(idOf(made)))).not.toContain(REDIRECT);
    if (used) expect((await server.refresh(login['refresh_token'], { client_id: idOf(made) })).status).toBe(401);
    server.advance(25 * HOUR_MS);
    expect(await refusedLogin(server, idOf(made))).toEqual(UNKNOWN);
  });

  it('a code that is redeemed while its client is being deleted leaves no login and no client', async () => {
    const store = memoryStore(Date.now);
    let meanwhile = (): Promise<unknown> => Promise.resolve();
    const create: typeof store.families.create = async (...args) => {
      await meanwhile();
      return store.families.create(...args);
    };
    const server = await fullServer({ store: { ...store, families: { ...store.families, create } } });
    const made = await register(server);
    meanwhile = () => managed(server, made, 'DELETE');
    expect(await refusedLogin(server, idOf(made))).toEqual(UNKNOWN);
    expect(await store.families.ofClient(idOf(made))).toEqual([]);
    meanwhile = () => Promise.resolve();
    expect(await refusedLogin(server, idOf(made))).toEqual(UNKNOWN);
  });

  it('an unused registration ends after 24 hours, and a used one stays', async () => {
    const server = await fullServer();
    const [unused, used] = [await register(server), await register(server)];
    const { refresh_token: token } = await server.login({ clientId: idOf(used) });
    server.advance(24 * HOUR_MS - 60_000);
    expect((await managed(server, unused, 'GET')).status).toBe(200);
    server.advance(60_001);
    expect((await managed(server, unused, 'GET')).status).toBe(401);
    expect(await refusedLogin(server, idOf(unused))).toEqual(UNKNOWN);
    expect((await server.refresh(token, { client_id: idOf(used) })).status).toBe(200);
    server.advance(6 * 24 * HOUR_MS);
    expect((await managed(server, used, 'GET')).status).toBe(200);
  });
});

describe('row 115: a client id that contains its registration', () => {
  it.each([
    ['a changed character', (id: string) => `${id.slice(0, 30)}${id[30] === 'A' ? 'B' : 'A'}${id.slice(31)}`],
    ['padding', (id: string) => `${id}=`],
    ['a character that base64url ignores', (id: string) => `${id.slice(0, 40)}!${id.slice(40)}`],
    ['a shorter end', (id: string) => id.slice(0, -3)],
    ['the other alphabet', (id: string) => `${id.replaceAll('-', '+').replaceAll('_', '/').replace('vcl/', 'vcl_')}/`],
    ['another key', (id: string) => `vcl_AAAAAAAA${id.slice(12)}`],
    ['nothing behind the key', (id: string) => id.slice(0, 13)],
    ['no prefix', (id: string) => id.slice(4)],
  ])('is unknown with %s', async (_what, changed) => {
    const server = await fullServer();
    const made = await register(server);
    const id = changed(idOf(made));
    expect(id).not.toBe(idOf(made));
    expect(await refusedLogin(server, id)).toEqual(await refusedLogin(server, 'vcl_nobody'));
    const path = `/oauth/register/${encodeURIComponent(id)}`;
    const reply = await server.request(path, bearer(made.json['registration_access_token']));
    expect([reply.status, reply.headers.get('www-authenticate')]).toEqual([401, 'Bearer error="invalid_token"']);
  });

  it('works at a replica with the same secrets while they are kept, and at no other server', async () => {
    const old = newSecrets();
    const made = await register(await fullServer({ secrets: old }));
    const [fresh] = newSecrets();
    const rings: readonly SecretRing[] = [old, [fresh, ...old], [fresh]];
    const servers = await Promise.all(rings.map((secrets) => clientServer({ settings: SMALL, secrets })));
    const neighbour = { ...SMALL, urls: { issuer: 'https://other.example/team' } };
    servers.push(await clientServer({ settings: neighbour, secrets: old }));
    const statuses = servers.map(async (server) => (await managed(server, made, 'GET')).status);
    expect(await Promise.all(statuses)).toEqual([200, 200, 401, 401]);
  });

  it('stays valid after its first login, even without the secret that sealed it', async () => {
    const store = memoryStore(Date.now);
    const before = await fullServer({ store });
    const made = await register(before);
    await before.login({ clientId: idOf(made) });
    const after = await clientServer({ settings: SMALL, secrets: newSecrets(), store });
    expect(await after.login({ clientId: idOf(made) })).toHaveProperty('access_token');
    expect((await managed(after, made, 'DELETE')).status).toBe(204);
    expect(await refusedLogin(after, idOf(made))).toEqual(UNKNOWN);
  });

  it.each([
    ['a usual client', MINIMAL, 260],
    [
      'ten redirect URIs and the longest name',
      {
        redirect_uris: Array.from({ length: 10 }, () => `https://client.example/cb/${randomBytes(24).toString('hex')}`),
        client_name: 'n'.repeat(256),
      },
      1_000,
    ],
  ])('has a bounded length for %s', async (_what, metadata, most) => {
    const server = await fullServer();
    const made = await register(server, metadata);
    expect(made.json).toMatchObject(metadata);
    expect(idOf(made)).toMatch(/^vcl_[\w-]{8}\.[\w-]+$/);
    expect(idOf(made).length).toBeLessThanOrEqual(most);
    expect(idOf(made)).not.toContain('client.example');
  });

  it('contains ten redirect URIs of the greatest length if they compress well', async () => {
    const uriOf = (index: number): string => `https://client.example/${'a'.repeat(2_000)}/${String(index)}`;
    const uris = Array.from({ length: 10 }, (_, index) => uriOf(index));
    const server = await fullServer();
    const made = await register(server, { redirect_uris: uris, post_logout_redirect_uris: uris });
    expect(made.json).toMatchObject({ redirect_uris: uris });
    expect(idOf(made).length).toBeLessThan(500);
    const code = await server.code({ clientId: idOf(made), redirectUri: uriOf(9) });
    expect((await server.redeem(code, { client_id: idOf(made), redirect_uri: uriOf(9) })).status).toBe(200);
  });

  it('does not exist for a registration that is too long for one: the answer is 503 while the table is full', async () => {
    const uri = (): string => `https://client.example/${randomBytes(950).toString('hex')}`;
    const metadata = { redirect_uris: Array.from({ length: 10 }, uri) };
    const reply = await register(await fullServer(), metadata);
    expect([reply.status, reply.json['error']]).toEqual([503, 'temporarily_unavailable']);
    const wait = Number(reply.headers.get('retry-after'));
    expect([wait > 0, wait <= 3_600]).toEqual([true, true]);
    expect((await register(await clientServer({ settings: SMALL }), metadata)).status).toBe(201);
  });

  it('is at most as long as every endpoint accepts', async () => {
    const server = await fullServer();
    const sizes = [];
    for (let bytes = 200; bytes <= 1_200; bytes += 100) {
      const uri = `https://client.example/${randomBytes(bytes / 2).toString('base64url')}`;
      const made = await register(server, { redirect_uris: [uri, `${uri}/2`, `${uri.slice(0, -9)}/3`] });
      if (made.status === 201) sizes.push(idOf(made).length);
    }
    expect(Math.max(...sizes)).toBeGreaterThan(600);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(MAX_CLIENT_ID_LENGTH);
  });
});
