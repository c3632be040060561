import { beforeAll, describe, expect, it } from 'vitest';
import { startRedis, type RedisServer } from '../../../e2e/harness/redis.ts';
import { blockScope } from '../../../e2e/harness/scope.ts';
import { SigningKeys } from '../keys/signing-keys.ts';
import { redisStore, settingsOf, single } from '../storage/testdata/redis-store.ts';
import {
  CLIENTS,
  clientServer,
  newSecrets,
  REDIRECT,
  SECRET,
  silent,
  VERIFIER,
  settingsFor,
  type ClientServer,
  type ServerOptions,
} from './testdata/client-server.ts';

const scope = blockScope();
let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis(scope);
});

const JSON_POST = { method: 'POST', headers: { 'content-type': 'application/json' } };

const countOf = (servers: readonly ClientServer[], event: string): number =>
  servers.flatMap(({ events }) => events).filter(([name]) => name === event).length;

/** Two servers that share the store, the keys and the secrets. */
async function twoReplicas(options: ServerOptions = {}): Promise<readonly [ClientServer, ClientServer]> {
  const settings = settingsOf(single(redis.port));
  const secrets = newSecrets();
  const keys = new SigningKeys({ files: [], log: silent });
  const open = async (): Promise<ClientServer> => {
    const store = await redisStore(settings, secrets);
    scope.defer(() => store.close());
    return clientServer({ store, secrets, keys, ...options });
  };
  return [await open(), await open()];
}

/** Returns true for a valid access token, with a check after at most 5 s. */
const isActive = async (server: ClientServer, token: unknown): Promise<boolean> =>
  (await server.request('/oauth/userinfo', { headers: { authorization: `Bearer ${String(token)}` } })).status === 200;

describe('two replicas on one Redis', () => {
  it('row 18: issue tokens for one of 50 parallel redemptions, whose login then ends', async () => {
    const [one, other] = await twoReplicas();
    for (let round = 0; round < 5; round += 1) {
      const code = await one.code();
      const replies = await Promise.all(
        Array.from({ length: 50 }, (_, index) => (index % 2 === 0 ? one : other).redeem(code)),
      );
      const won = replies.filter(({ status }) => status === 200);
      expect(won).toHaveLength(1);
      expect(replies.filter(({ status, json }) => status === 400 && json['error'] === 'invalid_grant')).toHaveLength(
        49,
      );
      expect(await isActive(one, won[0]?.json['access_token'])).toBe(false);
      expect((await other.refresh(won[0]?.json['refresh_token'])).status).toBe(400);
    }
  });

  it('row 114: share the clients that registered while the table was full, and their deletions', async () => {
    const clients = { ...settingsFor().clients, maxRegistered: Object.keys(CLIENTS).length };
    const [one, other] = await twoReplicas({ settings: { clients } });
    const { store } = one.context;
    const register = async () => {
      const body = JSON.stringify({ redirect_uris: [REDIRECT] });
      const made = await one.request('/oauth/register', { ...JSON_POST, body });
      const { client_id: clientId, registration_access_token: token } = made.json;
      return { clientId: String(clientId), headers: { authorization: `Bearer ${String(token)}` } };
    };
    const [used, unused] = [await register(), await register()];
    expect(await store.clients.count()).toBe(clients.maxRegistered);
    await other.login({ clientId: used.clientId });
    expect(await store.clients.count()).toBe(clients.maxRegistered + 1);
    expect(await store.clients.get(used.clientId)).toMatchObject({ source: 'registered' });
    for (const { clientId, headers } of [used, unused]) {
      expect((await other.request(`/oauth/register/${clientId}`, { headers })).status).toBe(200);
      expect((await one.request(`/oauth/register/${clientId}`, { headers, method: 'DELETE' })).status).toBe(204);
      const late = await other.redeem(await other.code({ clientId }), { client_id: clientId });
      expect([late.status, late.json['error']]).toEqual([401, 'invalid_client']);
    }
    expect(await store.clients.count()).toBe(clients.maxRegistered);
  });

  it('accept the tokens of each other', async () => {
    const [one, other] = await twoReplicas();
    const first = (await one.redeem(await one.code())).json;
    expect(await isActive(other, first['access_token'])).toBe(true);
    expect((await other.refresh(first['refresh_token'])).status).toBe(200);
  });

  it('row 23: issue the same successor for two parallel refreshes of one token', async () => {
    const servers = await twoReplicas();
    const [one, other] = servers;
    for (let round = 0; round < 10; round += 1) {
      const { refresh_token: token } = await one.login();
      const replies = await Promise.all([one.refresh(token), other.refresh(token), one.refresh(token)]);
      expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
      expect(new Set(replies.map(({ json }) => json['refresh_token'])).size).toBe(1);
      expect((await other.refresh(replies[0].json['refresh_token'])).status).toBe(200);
    }
    expect(countOf(servers, 'refresh_reuse')).toBe(0);
  });

  it('row 25: leave no live token when a refresh and a revocation run in parallel', async () => {
    const [one, other] = await twoReplicas();
    for (let round = 0; round < 20; round += 1) {
      const { refresh_token: token } = await one.login();
      const revoked = other.post('/oauth/revoke', { token: String(token), client_id: 'vcl_public' });
      const [refreshed, revocation] = await Promise.all([one.refresh(token), revoked]);
      expect(revocation.status).toBe(200);
      expect([200, 400]).toContain(refreshed.status);
      expect((await one.refresh(token)).status).toBe(400);
      if (refreshed.status !== 200) continue;
      expect(await isActive(one, refreshed.json['access_token'])).toBe(false);
      expect((await one.refresh(refreshed.json['refresh_token'])).status).toBe(400);
    }
  });

  it('row 66: store nothing in Redis that a reader could use as a credential', async () => {
    const [one, other] = await twoReplicas();
    const waiting = await one.code({ tsid: 'tsid-of-the-dump' });
    const first = await one.login();
    const second = await other.refresh(first['refresh_token']);
    const registered = await one.request('/oauth/register', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ redirect_uris: [REDIRECT], token_endpoint_auth_method: 'client_secret_post' }),
    });
    expect(registered.status).toBe(201);
    const row = await one.context.store.upstreamTokens.get('tsid-of-the-dump', 'idp');
    const dump = await dumpOf(redis);
    expect(dump).toContain(CLIENTS.basic.client_id);
    const secrets = [waiting, first['refresh_token'], second.json['refresh_token'], first['access_token']];
    const { client_secret: secret, registration_access_token: token } = registered.json;
    for (const text of [...secrets, secret, token, row?.accessToken, row?.refreshToken, SECRET, VERIFIER]) {
      expect(String(text).length).toBeGreaterThan(20);
      expect(dump).not.toContain(String(text));
    }
  });
});

/** Returns every key and value of the store. */
async function dumpOf({ cli }: RedisServer): Promise<string> {
  const keys = (await cli('KEYS', '*')).split('\n');
  const values = await Promise.all(
    keys.map(async (key) => {
      const type = await cli('TYPE', key);
      const read = { string: ['GET'], hash: ['HGETALL'], set: ['SMEMBERS'], zset: ['ZRANGE'] }[type] ?? ['TYPE'];
      return `${key} ${await cli(...read, key, ...(type === 'zset' ? ['0', '-1'] : []))}`;
    }),
  );
  return values.join('\n');
}
