import { expect, it } from 'vitest';
import type { Client } from '../records.ts';
import { upstreamLock } from '../store.ts';
import { PAST_SHORT_MS, SHORT_MS, type Fixture } from './fixture.ts';
import { client, HOUR_MS, unique, upstreamRow, user } from './samples.ts';

export function clientConformance(current: () => Fixture): void {
  it('stores a client unchanged, and does not register it twice', async () => {
    const { clients } = current().store;
    const known = client({ secretHash: unique(), registrationTokenHash: unique() });
    expect(await clients.register(known, HOUR_MS, 10)).toEqual({ kind: 'registered' });
    expect(await clients.get(known.client_id)).toEqual(known);
    expect(await clients.register(client({ client_id: known.client_id }), HOUR_MS, 10)).toEqual({ kind: 'exists' });
    expect(await clients.get(known.client_id)).toEqual(known);
    expect(await clients.get(unique())).toBeUndefined();
  });

  it('rejects a client at the limit, keeps all others, and returns when there is room', async () => {
    const { store, elapse } = current();
    const [soonGone, staying] = [client(), client()];
    await store.clients.register(soonGone, SHORT_MS, 2);
    await store.clients.register(staying, HOUR_MS, 2);
    const answer = await store.clients.register(client(), HOUR_MS, 2);
    expect(answer.kind).toBe('full');
    if (answer.kind === 'full') {
      expect(answer.retryAfterMs).toBeGreaterThan(0);
      expect(answer.retryAfterMs).toBeLessThanOrEqual(SHORT_MS);
    }
    expect(await store.clients.count()).toBe(2);
    await elapse(PAST_SHORT_MS);
    expect(await store.clients.count()).toBe(1);
    expect(await store.clients.register(client(), HOUR_MS, 2)).toEqual({ kind: 'registered' });
    expect(await store.clients.get(staying.client_id)).toEqual(staying);
  });

  it('replaces the oldest unused client at the limit once it is old enough', async () => {
    const { store, elapse } = current();
    const [used, oldest, newer] = [client(), client(), client()];
    const register = (each: Client) => store.clients.register(each, HOUR_MS, 3, SHORT_MS);
    for (const each of [used, oldest]) await register(each);
    await store.clients.renew(used.client_id, HOUR_MS);
    await elapse(PAST_SHORT_MS);
    await register(newer);
    expect(await register(client())).toEqual({ kind: 'registered' });
    const full = await register(client());
    expect(full.kind === 'full' && full.retryAfterMs > 0 && full.retryAfterMs <= SHORT_MS).toBe(true);
    expect(await store.clients.get(oldest.client_id)).toBeUndefined();
    expect(await store.clients.get(used.client_id)).toEqual(used);
    expect(await store.clients.get(newer.client_id)).toEqual(newer);
    expect(await store.clients.count()).toBe(3);
  });

  it('keeps to the limit with concurrent registrations', async () => {
    const { clients } = current().store;
    const answers = await Promise.all(Array.from({ length: 30 }, () => clients.register(client(), HOUR_MS, 7)));
    expect(answers.filter(({ kind }) => kind === 'registered')).toHaveLength(7);
    expect(await clients.count()).toBe(7);
  });

  it('keeps a client while it is renewed, and expires it otherwise', async () => {
    const { store, elapse } = current();
    const [used, unused] = [client(), client()];
    for (const each of [used, unused]) await store.clients.register(each, SHORT_MS, 0);
    expect(await store.clients.renew(used.client_id, HOUR_MS)).toBe(true);
    await elapse(PAST_SHORT_MS);
    expect(await store.clients.get(used.client_id)).toEqual(used);
    expect(await store.clients.get(unused.client_id)).toBeUndefined();
    expect(await store.clients.renew(unused.client_id, HOUR_MS)).toBe(false);
    expect(await store.clients.count()).toBe(1);
  });

  it('deletes a client', async () => {
    const { clients } = current().store;
    const known = client();
    await clients.register(known, HOUR_MS, 0);
    expect(await clients.delete(known.client_id)).toBe(true);
    expect(await clients.delete(known.client_id)).toBe(false);
    expect(await clients.get(known.client_id)).toBeUndefined();
    expect(await clients.count()).toBe(0);
  });

  it('stores and replaces a copy of a metadata document without counting it', async () => {
    const { clients } = current().store;
    const document = client({ client_id: 'https://client.example/{metadata}', source: 'document' });
    await clients.put(document, HOUR_MS);
    await clients.put({ ...document, issuedAt: 7 }, HOUR_MS);
    expect(await clients.get(document.client_id)).toEqual({ ...document, issuedAt: 7 });
    expect(await clients.count()).toBe(0);
  });

  it('keeps the extended lifetime of a used copy, and expires an unused one', async () => {
    const { store, elapse } = current();
    const [used, unused] = [client({ source: 'document' }), client({ source: 'document' })];
    for (const each of [used, unused]) await store.clients.put(each, SHORT_MS);
    await store.clients.renew(used.client_id, HOUR_MS);
    for (const each of [used, unused]) await store.clients.put({ ...each, issuedAt: 7 }, SHORT_MS);
    await elapse(PAST_SHORT_MS);
    expect(await store.clients.get(used.client_id)).toEqual({ ...used, issuedAt: 7 });
    expect(await store.clients.get(unused.client_id)).toBeUndefined();
  });
}

export function userConformance(current: () => Fixture): void {
  it('creates one user per provider and subject with concurrent logins', async () => {
    const { users } = current().store;
    const subject = unique();
    const resolved = await Promise.all(Array.from({ length: 50 }, () => users.resolve(user({ subject }))));
    expect(new Set(resolved.map(({ id }) => id)).size).toBe(1);
    const [first] = resolved;
    expect(await users.get(first?.id ?? '')).toEqual(first);
    expect(await users.resolve(user({ subject }))).toEqual(first);
    expect(await users.get(unique())).toBeUndefined();
  });

  it('does not link users of two providers, or pairs with the same concatenation', async () => {
    const { users } = current().store;
    const subject = unique();
    const pairs = [
      { provider: 'github', subject },
      { provider: 'slack', subject },
      { provider: 'a', subject: `b:${subject}` },
      { provider: 'a:b', subject },
    ];
    const ids = new Set<string>();
    for (const pair of pairs) ids.add((await users.resolve(user(pair))).id);
    expect(ids.size).toBe(pairs.length);
  });
}

export function upstreamConformance(current: () => Fixture): void {
  it('stores the upstream tokens of a login by provider, and deletes one or all of them', async () => {
    const { upstreamTokens } = current().store;
    const tsid = unique();
    const [github, slack] = [upstreamRow({ tsid }), upstreamRow({ tsid, provider: 'slack' })];
    await upstreamTokens.put(github, HOUR_MS);
    await upstreamTokens.put(slack, HOUR_MS);
    expect(await upstreamTokens.get(tsid, 'github')).toEqual(github);
    expect(await upstreamTokens.get(tsid, 'jira')).toBeUndefined();
    expect(await upstreamTokens.get(unique(), 'github')).toBeUndefined();
    expect(await upstreamTokens.all(tsid)).toEqual([github, slack]);
    await upstreamTokens.delete(tsid, 'github');
    expect(await upstreamTokens.all(tsid)).toEqual([slack]);
    await upstreamTokens.delete(tsid);
    expect(await upstreamTokens.all(tsid)).toEqual([]);
    await upstreamTokens.delete(tsid);
  });

  it('extends the rows of a login at these providers, shortens none and creates none', async () => {
    const { store, elapse } = current();
    const [tsid, other] = [unique(), unique()];
    const rows = [upstreamRow({ tsid }), upstreamRow({ tsid, provider: 'slack' })] as const;
    await store.upstreamTokens.put(rows[0], SHORT_MS);
    await store.upstreamTokens.put(rows[1], HOUR_MS);
    await store.upstreamTokens.put(upstreamRow({ tsid: other }), SHORT_MS);
    await store.upstreamTokens.put(upstreamRow({ tsid, provider: 'dropped' }), SHORT_MS);
    const providers = ['github', 'jira', 'slack'];
    await store.upstreamTokens.extend(tsid, providers, HOUR_MS);
    await store.upstreamTokens.extend(tsid, providers, SHORT_MS);
    await store.upstreamTokens.extend(unique(), providers, HOUR_MS);
    await elapse(PAST_SHORT_MS);
    expect(await store.upstreamTokens.all(tsid)).toEqual(rows);
    expect(await store.upstreamTokens.all(other)).toEqual([]);
  });

  it('replaces an existing row, and only for the holder of its lock', async () => {
    const { store, elapse } = current();
    const row = upstreamRow();
    const name = upstreamLock(row.tsid, row.provider);
    const fresh = { ...row, accessToken: unique() };
    await store.upstreamTokens.put(row, HOUR_MS);
    const late = await store.locks.acquire(name, SHORT_MS);
    const foreign = await store.locks.acquire(unique(), HOUR_MS);
    await elapse(PAST_SHORT_MS);
    const holder = await store.locks.acquire(name, HOUR_MS);
    if (!late || !foreign || !holder) throw new Error('a lock is missing');
    expect(await store.upstreamTokens.replace(fresh, late)).toBe(false);
    expect(await store.upstreamTokens.replace(fresh, foreign)).toBe(false);
    expect(await store.upstreamTokens.get(row.tsid, row.provider)).toEqual(row);
    expect(await store.upstreamTokens.replace(fresh, holder)).toBe(true);
    expect(await store.upstreamTokens.get(row.tsid, row.provider)).toEqual(fresh);
    await store.upstreamTokens.delete(row.tsid);
    expect(await store.upstreamTokens.replace(fresh, holder)).toBe(false);
    expect(await store.upstreamTokens.all(row.tsid)).toEqual([]);
  });

  it('keeps the expiry of a replaced row', async () => {
    const { store, elapse } = current();
    const row = upstreamRow();
    await store.upstreamTokens.put(row, SHORT_MS);
    const lock = await store.locks.acquire(upstreamLock(row.tsid, row.provider), HOUR_MS);
    if (!lock) throw new Error('the lock is missing');
    expect(await store.upstreamTokens.replace({ ...row, accessToken: unique() }, lock)).toBe(true);
    await elapse(PAST_SHORT_MS);
    expect(await store.upstreamTokens.get(row.tsid, row.provider)).toBeUndefined();
  });

  it("returns the row of a user's latest login at a provider", async () => {
    const { upstreamTokens } = current().store;
    const userId = unique();
    const [older, latest, elsewhere] = [
      upstreamRow({ userId, storedAt: 1_000 }),
      upstreamRow({ userId, storedAt: 2_000 }),
      upstreamRow({ userId, storedAt: 3_000, provider: 'slack' }),
    ] as const;
    const empty = upstreamRow({ userId, storedAt: 4_000, accessToken: '', dead: true });
    for (const row of [older, latest, elsewhere, upstreamRow(), empty]) await upstreamTokens.put(row, HOUR_MS);
    expect(await upstreamTokens.latestForUser(userId, 'github')).toEqual(latest);
    await upstreamTokens.delete(latest.tsid);
    expect(await upstreamTokens.latestForUser(userId, 'github')).toEqual(older);
    expect(await upstreamTokens.latestForUser(userId, 'jira')).toBeUndefined();
    expect(await upstreamTokens.latestForUser(unique(), 'github')).toBeUndefined();
  });
}

export function rateConformance(current: () => Fixture): void {
  it('grants a lock to one of several callers, and to the next when it is released or expires', async () => {
    const { store, elapse } = current();
    const name = unique();
    const [first, ...others] = (
      await Promise.all(Array.from({ length: 50 }, () => store.locks.acquire(name, HOUR_MS)))
    ).filter((lock) => lock !== undefined);
    expect(others).toEqual([]);
    if (!first) throw new Error('no caller got the lock');
    expect(await store.locks.release({ name, fence: unique() })).toBe(false);
    expect(await store.locks.acquire(name, HOUR_MS)).toBeUndefined();
    expect(await store.locks.release(first)).toBe(true);
    const second = await store.locks.acquire(name, SHORT_MS);
    if (!second) throw new Error('no caller got the released lock');
    expect(second.fence).not.toBe(first.fence);
    expect(await store.locks.release(first)).toBe(false);
    expect(await store.locks.renew(first, HOUR_MS)).toBe(false);
    await elapse(PAST_SHORT_MS);
    expect(await store.locks.renew(second, HOUR_MS)).toBe(false);
    expect(await store.locks.acquire(name, HOUR_MS)).toBeDefined();
  });

  it('extends a renewed lock', async () => {
    const { store, elapse } = current();
    const name = unique();
    const lock = await store.locks.acquire(name, SHORT_MS);
    if (!lock) throw new Error('the lock is missing');
    expect(await store.locks.renew(lock, HOUR_MS)).toBe(true);
    await elapse(PAST_SHORT_MS);
    expect(await store.locks.acquire(name, HOUR_MS)).toBeUndefined();
    expect(await store.locks.release(lock)).toBe(true);
  });

  it('keeps registrations at providers until they are deleted', async () => {
    const { store } = current();
    const key = unique();
    expect(await store.registrations.get(key)).toBeUndefined();
    await store.registrations.put(key, '{"client_id":"a"}');
    await store.registrations.put(key, '{"client_id":"b"}');
    expect(await store.registrations.get(key)).toBe('{"client_id":"b"}');
    await store.registrations.delete(key);
    await store.registrations.delete(key);
    expect(await store.registrations.get(key)).toBeUndefined();
  });

  it('allows a full bucket of uses at once, then one use per refill', async () => {
    const { store, elapse } = current();
    const limit = { capacity: 3, perSecond: 1_000 / SHORT_MS };
    const key = '2001:db8::/64 {tag} ip';
    const answers = await Promise.all(Array.from({ length: 20 }, () => store.rates.take('register', key, limit)));
    expect(answers.filter(({ allowed }) => allowed)).toHaveLength(3);
    expect(answers.find(({ allowed }) => !allowed)).toEqual({ allowed: false, retryAfterSeconds: 1 });
    expect(await store.rates.take('register', 'another', limit)).toEqual({ allowed: true });
    expect(await store.rates.take('token', key, limit)).toEqual({ allowed: true });
    await elapse(PAST_SHORT_MS);
    const later = await Promise.all([1, 2, 3].map(() => store.rates.take('register', key, limit)));
    expect(later.some(({ allowed }) => allowed)).toBe(true);
  });

  it('returns the time until an empty bucket allows a use', async () => {
    const { store } = current();
    const limit = { capacity: 1, perSecond: 1 / 60 };
    await store.rates.take('register', 'key', limit);
    expect(await store.rates.take('register', 'key', limit)).toEqual({ allowed: false, retryAfterSeconds: 60 });
  });
}
