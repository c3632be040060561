import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { startRedis, type RedisServer } from '../../../../e2e/harness/redis.ts';
import { blockScope, testScope } from '../../../../e2e/harness/scope.ts';
import { kvstoreStore } from './store.ts';
import { openKeyValueStore } from '../../../kvstore/open.ts';
import { createSealer } from '../sealing.ts';
import { upstreamLock, type Store } from '../store.ts';
import { everyMethod } from '../testdata/every-method.ts';
import { redisFixture, redisStore, settingsOf, silent, single } from '../testdata/redis-store.ts';
import { client, codeGrant, family, HOUR_MS, SPANS, attempt, unique, upstreamRow, user } from '../testdata/samples.ts';
import { storeConformance } from '../testdata/store-conformance.ts';

const scope = blockScope();
let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis(scope);
});

storeConformance('kvstore (one redis-server)', () => redisFixture(single(redis.port)));

/** Opens two stores with the same prefix, like two replicas. */
async function replicas(): Promise<[Store, Store]> {
  const settings = settingsOf(single(redis.port));
  return [await redisStore(settings), await redisStore(settings)];
}

it('lets one of two processes take a code, and shares all records between them', async () => {
  const [one, two] = await replicas();
  const [code, grant] = [unique(), codeGrant()];
  await one.codes.put(code, grant, HOUR_MS);
  const takers = Array.from({ length: 50 }, (_, index) => (index % 2 === 0 ? one : two));
  const taken = await Promise.all(takers.map((store) => store.codes.take(code, HOUR_MS)));
  expect(taken.filter(({ kind }) => kind === 'taken')).toEqual([{ kind: 'taken', grant }]);
  const made = family(Date.now());
  await two.families.create(made, 'refresh', SPANS);
  const rotations = await Promise.all(
    takers.map((store) =>
      store.families.rotate({ family: made, token: 'refresh', successor: unique(), graceMs: 60_000, ...SPANS }),
    ),
  );
  expect(rotations.filter(({ kind }) => kind === 'rotated')).toHaveLength(1);
  expect(new Set(rotations.map((each) => each.kind))).toEqual(new Set(['rotated', 'replayed']));
  await one.families.revoke(made, HOUR_MS);
  expect(await two.live.get(made.tsid)).toBeUndefined();
  await Promise.all([one.close(), two.close()]);
});

/** Writes one record of each kind, and returns the secrets that it passed to the store. */
async function fill(store: Store): Promise<readonly string[]> {
  const secrets = Array.from({ length: 6 }, (_, index) => `secret-${String(index)}-${unique()}`);
  const [state = '', code = '', usedCode = '', refresh = '', successor = '', consent = ''] = secrets;
  const stored = attempt();
  const row = upstreamRow({ idToken: `eyJ-${unique()}` });
  const made = family(Date.now());
  const registered = `secret-${unique()}`;
  await store.loginAttempts.put(state, stored, HOUR_MS);
  await store.loginAttempts.put(consent, attempt({ leg: undefined }), HOUR_MS);
  await store.codes.put(code, codeGrant(), HOUR_MS);
  await store.codes.put(usedCode, codeGrant(), HOUR_MS);
  await store.codes.take(usedCode, HOUR_MS);
  await store.families.create(made, refresh, SPANS);
  await store.families.rotate({ family: made, token: refresh, successor, graceMs: 60_000, ...SPANS });
  await store.clients.register(client(), HOUR_MS, 10);
  await store.clients.put(client({ client_id: 'https://client.example/metadata' }), HOUR_MS);
  await store.users.resolve(user());
  await store.upstreamTokens.put(row, HOUR_MS);
  await store.locks.acquire(upstreamLock(row.tsid, row.provider), HOUR_MS);
  await store.registrations.put('a'.repeat(64), JSON.stringify({ client_secret: registered }));
  await store.rates.take('register', '192.0.2.1', { capacity: 1, perSecond: 0.001 });
  const upstream = [row.accessToken, row.refreshToken ?? '', row.idToken ?? ''];
  return [
    ...secrets,
    ...upstream,
    registered,
    stored.leg?.codeVerifier ?? '',
    stored.leg?.nonce ?? '',
    stored.state ?? '',
  ];
}

/** Returns every key with its content. */
async function dump(prefix: string): Promise<ReadonlyMap<string, string>> {
  const keys = (await redis.cli('--scan', '--pattern', `${prefix}*`)).split('\n').filter((key) => key !== '');
  const read: Readonly<Record<string, (key: string) => Promise<string>>> = {
    string: (key) => redis.cli('GET', key),
    hash: (key) => redis.cli('HGETALL', key),
    set: (key) => redis.cli('SMEMBERS', key),
    zset: (key) => redis.cli('ZRANGE', key, '0', '-1', 'WITHSCORES'),
  };
  const entries = keys.map(async (key) => {
    const type = await redis.cli('TYPE', key);
    const content = await read[type]?.(key);
    if (content === undefined) throw new Error(`${key} is a ${type}, which STORAGE.md does not have`);
    return [key.slice(prefix.length), content] as const;
  });
  return new Map(await Promise.all(entries));
}

it('stores no usable secret, and sets a TTL on every key except users', async () => {
  const settings = settingsOf(single(redis.port));
  const store = await redisStore(settings);
  const secrets = await fill(store);
  const dumped = await dump(settings.keyPrefix);
  const text = [...dumped].flat().join('\n');
  for (const secret of secrets) {
    expect(secret.length).toBeGreaterThan(10);
    expect(text).not.toContain(secret);
    expect(text).not.toContain(Buffer.from(secret).toString('base64').slice(0, 12));
  }
  const kinds = new Set([...dumped.keys()].map((key) => key.slice(0, key.indexOf(':') + 1) || key));
  expect(kinds).toEqual(
    new Set(
      ['txn:', 'code:', 'usedcode:', 'fam:', 'famwindow:', 'famuser:', 'famclient:', 'rt:', 'live:'].concat([
        'client:',
        'clients-unused',
        'clients',
        'usr:',
        'idp:',
        'up:',
        'upidx:',
        'uup:',
        'lock:',
        'reg:',
        'rl:',
      ]),
    ),
  );
  for (const key of dumped.keys()) {
    const ttlMs = Number(await redis.cli('PTTL', `${settings.keyPrefix}${key}`));
    if (/^(usr|idp|reg):/u.test(key)) expect(ttlMs, key).toBe(-1);
    else expect(ttlMs, key).toBeGreaterThan(0);
  }
  await store.close();
});

it('treats records sealed by a removed secret as missing, and keeps the others', async () => {
  const settings = settingsOf(single(redis.port));
  const [before, after] = [await redisStore(settings), await redisStore(settings, [Buffer.alloc(32, 'another')])];
  const [code, refresh, handle] = [unique(), unique(), unique()];
  const [row, made, known, person] = [upstreamRow(), family(Date.now()), client(), user()];
  await before.loginAttempts.put(handle, attempt(), HOUR_MS);
  await before.codes.put(code, codeGrant(), HOUR_MS);
  await before.families.create(made, refresh, SPANS);
  await before.upstreamTokens.put(row, HOUR_MS);
  await before.clients.register(known, HOUR_MS, 0);
  await before.users.resolve(person);
  expect(await after.loginAttempts.take(handle)).toBeUndefined();
  expect(await after.codes.take(code, HOUR_MS)).toEqual({ kind: 'unknown' });
  expect(await after.families.find(refresh)).toBeUndefined();
  expect(await after.upstreamTokens.all(row.tsid)).toEqual([]);
  expect(await after.clients.get(known.client_id)).toEqual(known);
  expect(await after.users.resolve(user({ provider: person.provider, subject: person.subject }))).toEqual(person);
  expect(await after.live.get(made.tsid)).toBeDefined();
  await after.families.revoke(made, HOUR_MS);
  expect(await before.live.get(made.tsid)).toBeUndefined();
  await Promise.all([before.close(), after.close()]);
});

describe('an unreachable store', () => {
  it('is tested with every method', async () => {
    const store = await redisStore(settingsOf(single(redis.port)));
    const names = Object.entries(store).flatMap(([group, member]: [string, unknown]) =>
      typeof member === 'function' ? [group] : Object.keys(member as object).map((method) => `${group}.${method}`),
    );
    const asked = everyMethod(store).map(([name]) => name);
    expect(new Set([...asked, 'close'])).toEqual(new Set(names));
    await store.close();
  });

  it('fails every method at once when nothing listens', async () => {
    const server = await startRedis(testScope());
    const store = await redisStore(settingsOf(single(server.port)));
    await server.kill();
    await sleep(100);
    for (const [method, call] of everyMethod(store)) {
      const startedAt = performance.now();
      await expect(call(), method).rejects.toMatchObject({ name: 'StoreUnavailable' });
      expect(performance.now() - startedAt, method).toBeLessThan(1_500);
    }
    await store.close();
  });

  it('fails within the time limit when it hangs, then at once, and recovers when it answers again', async () => {
    const server = await startRedis(testScope());
    const store = await redisStore(settingsOf(single(server.port), { replyTimeoutMs: 1_500 }));
    server.pause();
    const startedAt = performance.now();
    const answers = await Promise.allSettled(everyMethod(store).map(([, call]) => call()));
    expect(performance.now() - startedAt).toBeLessThan(2_900);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 'rejected'));
    await sleep(200);
    const againAt = performance.now();
    await expect(store.health()).rejects.toMatchObject({ name: 'StoreUnavailable' });
    expect(performance.now() - againAt).toBeLessThan(1_000);
    server.resume();
    await expect.poll(() => store.health().then(() => 'back'), { timeout: 10_000 }).toBe('back');
    await store.close();
  });

  it('reports no arguments of a command that the server rejects', async () => {
    const server = await startRedis(testScope(), { config: ['maxmemory-policy noeviction', 'maxmemory 1'] });
    const store = await redisStore(settingsOf(single(server.port)));
    const secret = unique();
    const error: unknown = await store.upstreamTokens
      .put(upstreamRow({ accessToken: secret }), HOUR_MS)
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: 'StoreUnavailable', message: expect.stringContaining('OOM') });
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain(secret);
    await store.close();
  });

  it('opens before the server is reachable, and fails until then', async () => {
    const store = kvstoreStore(
      openKeyValueStore(settingsOf(single(1)), silent),
      createSealer(() => [Buffer.alloc(32, 1)]),
      Date.now,
    );
    await expect(store.health()).rejects.toMatchObject({ name: 'StoreUnavailable' });
    await store.close();
  });
});
