import { expect, it } from 'vitest';
import type { Client } from './records.ts';
import { memoryStore } from './memory.ts';
import { StoreUnavailable } from './store.ts';
import { attempt, client, family, HOUR_MS, SPANS, unique } from './testdata/samples.ts';
import { storeConformance } from './testdata/store-conformance.ts';

const START = 1_700_000_000_000;

storeConformance('memory', async () => {
  let now = START;
  return {
    store: memoryStore(() => now),
    now: () => now,
    elapse: async (ms) => void (now += ms),
  };
});

it('keeps 10,000 login attempts and drops none of them for a newer one', async () => {
  const { loginAttempts } = memoryStore(() => START);
  const first = unique();
  expect(await loginAttempts.put(first, attempt(), HOUR_MS)).toBe(true);
  for (let count = 0; count < 10_050; count += 1)
    expect(await loginAttempts.put(`flood-${String(count)}`, attempt(), HOUR_MS)).toBe(count < 9_999);
  expect(await loginAttempts.get(first)).toBeDefined();
  expect(await loginAttempts.take('flood-0')).toBeDefined();
  expect(await loginAttempts.put('later', attempt(), HOUR_MS)).toBe(true);
});

it('limits login attempts that a browser has opened apart from those that none has', async () => {
  const { loginAttempts } = memoryStore(() => START, { loginAttempts: { total: 3, perAddress: 3 } });
  const { cookieHash: _none, ...unopened } = attempt();
  const mine = attempt();
  const handles = ['a', 'b', 'c', 'd'];
  const kept = [];
  for (const handle of handles) kept.push(await loginAttempts.put(handle, unopened, HOUR_MS));
  expect(kept).toEqual([true, true, true, false]);
  expect(await loginAttempts.put('mine', mine, HOUR_MS)).toBe(true);
  expect(await loginAttempts.put('mine', unopened, HOUR_MS)).toBe(false);
  expect(await loginAttempts.take('mine')).toEqual(mine);
});

it('does not count expired login attempts', async () => {
  let now = START;
  const { loginAttempts } = memoryStore(() => now, { loginAttempts: { total: 2, perAddress: 2 } });
  await loginAttempts.put('old', attempt(), 1_000);
  now += 2_000;
  await loginAttempts.put('first', attempt(), HOUR_MS);
  await loginAttempts.put('second', attempt(), HOUR_MS);
  expect(await loginAttempts.get('first')).toBeDefined();
  expect(await loginAttempts.get('second')).toBeDefined();
});

it('rejects a family beyond the limit as unavailable, and drops none', async () => {
  let now = START;
  const { families } = memoryStore(() => now, { maxFamilies: 2 });
  const first = family(now);
  await families.create(first, unique(), SPANS);
  await families.create(family(now), unique(), SPANS);
  await expect(families.create(family(now), unique(), SPANS)).rejects.toThrow(StoreUnavailable);
  expect(await families.get(first.id)).toEqual(first);
  now += SPANS.idleMs;
  expect(await families.create(family(now), unique(), SPANS)).toBe(true);
});

it('drops the oldest rate limits when there are too many keys', async () => {
  const { rates } = memoryStore(() => START, { maxRateKeys: 2 });
  const limit = { capacity: 1, perSecond: 1 };
  for (const key of ['a', 'b', 'c']) await rates.take('register', key, limit);
  expect((await rates.take('register', 'c', limit)).allowed).toBe(false);
  expect((await rates.take('register', 'a', limit)).allowed).toBe(true);
});

it('keeps 1,000 login attempts of one address, and counts neither taken nor expired ones', async () => {
  let now = START;
  const { loginAttempts } = memoryStore(() => now);
  const put = (name: string, address?: string, ttlMs = HOUR_MS) =>
    loginAttempts.put(name, { ...attempt(), ...(address !== undefined && { address }) }, ttlMs);
  for (let count = 0; count < 1_001; count += 1)
    expect(await put(`flood-${String(count)}`, '203.0.113.9', count === 0 ? 1_000 : HOUR_MS)).toBe(count < 1_000);
  expect([await put('other', '203.0.113.7'), await put('unknown')]).toEqual([true, true]);
  await loginAttempts.take('flood-1');
  expect([await put('a', '203.0.113.9'), await put('b', '203.0.113.9')]).toEqual([true, false]);
  now += 2_000;
  expect([await put('c', '203.0.113.9'), await put('d', '203.0.113.9')]).toEqual([true, false]);
});

/** A client whose record has more than this number of bytes. */
const longClient = (bytes: number, over: Partial<Client> = {}): Client => {
  const made = client(over);
  return { ...made, metadata: { ...made.metadata, logo_uri: `https://client.example/${'x'.repeat(bytes)}` } };
};

it('row 116: limits unused registered clients by their bytes, and used ones not', async () => {
  let now = START;
  const { clients } = memoryStore(() => now, { maxUnusedBytes: 40_000 });
  const register = (one = longClient(10_000), max = 1_000) => clients.register(one, HOUR_MS, max, 60_000);
  const used = longClient(30_000);
  await register(used);
  await clients.renew(used.client_id, 24 * HOUR_MS);
  const oldest = longClient(10_000);
  expect([await register(oldest), await register(), await register(), await register()]).toEqual(
    Array(4).fill({ kind: 'registered' }),
  );
  expect(await register()).toEqual({ kind: 'full', retryAfterMs: 60_000 });
  expect(await register(longClient(10), 0)).toEqual({ kind: 'registered' });
  now += 60_000;
  expect(await register()).toEqual({ kind: 'registered' });
  expect([await clients.get(oldest.client_id), await clients.get(used.client_id)]).toEqual([undefined, used]);
  now += HOUR_MS;
  for (let count = 0; count < 4; count += 1) expect(await register()).toEqual({ kind: 'registered' });
  expect((await register()).kind).toBe('full');
  expect(await clients.count()).toBe(5);
});

it('row 116: drops the oldest unused copies of documents above a limit of bytes', async () => {
  const { clients } = memoryStore(() => START, { maxUnusedBytes: 40_000 });
  const ids = Array.from({ length: 20 }, (_, index) => `https://client.example/${String(index)}`);
  const copy = (client_id: string) => clients.put(longClient(9_000, { client_id, source: 'document' }), HOUR_MS);
  const [used = '', early = '', ...others] = ids;
  await copy(used);
  await clients.renew(used, HOUR_MS);
  for (const id of [early, ...others]) {
    await copy(id);
    await copy(used);
  }
  const left = await Promise.all(ids.map((id) => clients.get(id)));
  expect(left.filter(Boolean).map((one) => one?.client_id)).toEqual([used, ...ids.slice(-4)]);
  await copy(early); // a copy that is stored again counts once
  await copy(early);
  expect(await clients.get(early)).toBeDefined();
  expect(await clients.get(ids.at(-1) ?? '')).toBeDefined();
  expect(await clients.count()).toBe(0);
});
