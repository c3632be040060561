import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RotationRequest } from '../store.ts';
import { PAST_SHORT_MS, SHORT_MS, type Fixture } from './fixture.ts';
import { clientConformance, rateConformance, upstreamConformance, userConformance } from './store-conformance-rest.ts';
import { codeGrant, family, HOUR_MS, SPANS, attempt, unboundAttempt, unique } from './samples.ts';

const times = <T>(count: number, work: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)));

/** Tests that every store must pass. */
export function storeConformance(name: string, open: () => Promise<Fixture>): void {
  describe(`${name} store`, () => {
    let fixture: Fixture;
    beforeEach(async () => {
      fixture = await open();
    });
    afterEach(() => fixture.store.close());
    const current = (): Fixture => fixture;

    it('resolves health', () => fixture.store.health());
    loginAttemptConformance(current);
    codeConformance(current);
    familyConformance(current);
    rotationConformance(current);
    revocationConformance(current);
    clientConformance(current);
    userConformance(current);
    upstreamConformance(current);
    rateConformance(current);
  });
}

function loginAttemptConformance(current: () => Fixture): void {
  it('returns a taken login attempt to exactly one of several concurrent callers', async () => {
    const { loginAttempts } = current().store;
    const [handle, given] = [unique(), attempt()];
    expect(await loginAttempts.put(handle, given, HOUR_MS)).toBe(true);
    expect(await loginAttempts.get(handle)).toEqual(given);
    const taken = await times(50, () => loginAttempts.take(handle));
    expect(taken.filter((each) => each !== undefined)).toEqual([given]);
    expect(await loginAttempts.get(handle)).toBeUndefined();
  });

  it('returns an attempt with a running leg to exactly one of several callers of its browser', async () => {
    const { loginAttempts } = current().store;
    const [handle, cookieHash] = [unique(), unique()];
    const given = attempt({ cookieHash });
    await loginAttempts.put(handle, given, HOUR_MS);
    for (const hashes of [[], [unique()], [unique(), '.', '', handle]])
      expect(await loginAttempts.takeOwn(handle, hashes)).toEqual({ kind: 'foreign', attempt: given });
    const taken = await times(50, () => loginAttempts.takeOwn(handle, [unique(), cookieHash]));
    expect(taken.filter(({ kind }) => kind !== 'unknown')).toEqual([{ kind: 'taken', attempt: given }]);
    expect(await loginAttempts.get(handle)).toBeUndefined();
  });

  it('does not let a browser take an attempt without a running leg', async () => {
    const { loginAttempts } = current().store;
    const { leg: _none, ...before } = attempt();
    for (const given of [before, unboundAttempt()]) {
      const handle = unique();
      await loginAttempts.put(handle, given, HOUR_MS);
      const hashes = [before.cookieHash ?? '', '.', '', 'undefined'];
      expect(await loginAttempts.takeOwn(handle, hashes)).toEqual({ kind: 'foreign', attempt: given });
      expect(await loginAttempts.take(handle)).toEqual(given);
    }
    expect(await loginAttempts.takeOwn(unique(), [])).toEqual({ kind: 'unknown' });
  });

  it('does not overwrite a login attempt under the same handle', async () => {
    const { loginAttempts } = current().store;
    const [handle, given] = [unique(), attempt()];
    await loginAttempts.put(handle, given, HOUR_MS);
    expect(await loginAttempts.put(handle, attempt(), HOUR_MS)).toBe(false);
    expect(await loginAttempts.take(handle)).toEqual(given);
  });

  it('stores an attempt without a browser, and after taking it the bound one under the same handle', async () => {
    const { loginAttempts } = current().store;
    const [handle, unbound] = [unique(), unboundAttempt()];
    await loginAttempts.put(handle, unbound, HOUR_MS);
    const taken = await loginAttempts.take(handle);
    expect(taken).toEqual(unbound);
    expect(Object.keys(taken ?? {})).not.toContain('cookieHash');
    const bound = { ...unbound, cookieHash: unique() };
    expect(await loginAttempts.put(handle, bound, HOUR_MS)).toBe(true);
    expect(await loginAttempts.get(handle)).toEqual(bound);
  });

  it('expires a login attempt after its lifetime, and returns undefined for an unknown handle', async () => {
    const { store, elapse } = current();
    const handle = unique();
    await store.loginAttempts.put(handle, attempt(), SHORT_MS);
    await elapse(PAST_SHORT_MS);
    expect(await store.loginAttempts.take(handle)).toBeUndefined();
    expect(await store.loginAttempts.take(unique())).toBeUndefined();
  });
}

function codeConformance(current: () => Fixture): void {
  it('returns a code to exactly one of several concurrent callers, and its family to the others (RFC 6749 §4.1.2)', async () => {
    const { codes } = current().store;
    const [code, grant] = [unique(), codeGrant()];
    expect(await codes.put(code, grant, HOUR_MS)).toBe(true);
    const taken = await times(50, () => codes.take(code, HOUR_MS));
    expect(taken.filter(({ kind }) => kind === 'taken')).toEqual([{ kind: 'taken', grant }]);
    const used = { kind: 'used', family: { id: grant.familyId, tsid: grant.tsid } };
    expect(taken.filter(({ kind }) => kind !== 'taken')).toEqual(Array.from({ length: 49 }, () => used));
  });

  it('expires a code after its lifetime, and the mark of a used code after its own', async () => {
    const { store, elapse } = current();
    const [late, used] = [unique(), unique()];
    await store.codes.put(late, codeGrant(), SHORT_MS);
    await store.codes.put(used, codeGrant(), HOUR_MS);
    await store.codes.take(used, SHORT_MS);
    await elapse(PAST_SHORT_MS);
    expect(await store.codes.take(late, HOUR_MS)).toEqual({ kind: 'unknown' });
    expect(await store.codes.take(used, HOUR_MS)).toEqual({ kind: 'unknown' });
    expect(await store.codes.take(unique(), HOUR_MS)).toEqual({ kind: 'unknown' });
  });

  it('does not overwrite a code', async () => {
    const { codes } = current().store;
    const [code, grant] = [unique(), codeGrant()];
    await codes.put(code, grant, HOUR_MS);
    expect(await codes.put(code, codeGrant(), HOUR_MS)).toBe(false);
    expect(await codes.take(code, HOUR_MS)).toEqual({ kind: 'taken', grant });
  });
}

function familyConformance(current: () => Fixture): void {
  it('creates a family with its token and its liveness, once', async () => {
    const { store, now } = current();
    const [made, token] = [family(now()), unique()];
    expect(await store.families.create(made, token, SPANS)).toBe(true);
    expect(await store.families.create(made, unique(), SPANS)).toBe(false);
    expect(await store.families.get(made.id)).toEqual(made);
    expect(await store.families.find(token)).toEqual({ family: made, current: true });
    expect(await store.live.get(made.tsid)).toEqual({
      familyId: made.id,
      userId: made.login.userId,
      clientId: made.clientId,
    });
    expect(await store.families.find(unique())).toBeUndefined();
    expect(await store.families.get(unique())).toBeUndefined();
    expect(await store.live.get(unique())).toBeUndefined();
  });

  it('creates a family without a refresh token', async () => {
    const { store, now } = current();
    const made = family(now());
    expect(await store.families.create(made, undefined, SPANS)).toBe(true);
    expect(await store.families.get(made.id)).toEqual(made);
    expect(await store.families.find('')).toBeUndefined();
    expect(await store.live.get(made.tsid)).toBeDefined();
  });

  it('lists the active families of a user and of a client', async () => {
    const { store, now } = current();
    const login = { userId: unique(), authTime: 0 };
    const [first, second, other] = [
      family(now(), { login }),
      family(now(), { login, clientId: unique() }),
      family(now()),
    ] as const;
    for (const each of [first, second, other]) await store.families.create(each, unique(), SPANS);
    const ref = ({ id, tsid }: typeof first) => ({ id, tsid });
    expect(new Set(await store.families.ofUser(login.userId))).toEqual(new Set([ref(first), ref(second)]));
    expect(await store.families.ofClient(second.clientId)).toEqual([ref(second)]);
    await store.families.revoke(first, HOUR_MS);
    expect(await store.families.ofUser(login.userId)).toEqual([ref(second)]);
    expect(await store.families.ofUser(unique())).toEqual([]);
  });

  it('expires an unused family, and a used one at its end', async () => {
    const { store, now, elapse } = current();
    const [idle, busy] = [family(now()), family(now(), { expiresAt: now() + SHORT_MS })];
    const [idleToken, busyToken] = [unique(), unique()];
    await store.families.create(idle, idleToken, { idleMs: SHORT_MS, liveMs: SHORT_MS });
    await store.families.create(busy, busyToken, SPANS);
    const next = { token: busyToken, successor: unique(), graceMs: 60_000, ...SPANS };
    expect((await store.families.rotate({ family: busy, ...next })).kind).toBe('rotated');
    await elapse(PAST_SHORT_MS);
    expect(await store.families.find(idleToken)).toBeUndefined();
    expect(await store.families.get(idle.id)).toBeUndefined();
    expect(await store.live.get(idle.tsid)).toBeUndefined();
    expect(await store.families.find(next.successor)).toBeUndefined();
    expect(
      await store.families.rotate({ ...next, family: busy, token: next.successor, successor: unique() }),
    ).toEqual({ kind: 'unknown' });
  });
}

/** Creates a family with one refresh token. */
async function newFamily({ store, now }: Fixture) {
  const [made, token] = [family(now()), unique()];
  await store.families.create(made, token, SPANS);
  const request = (presented: string, graceMs = 60_000): RotationRequest => ({
    ...SPANS,
    family: made,
    token: presented,
    successor: unique(),
    graceMs,
  });
  return { made, token, request };
}

function rotationConformance(current: () => Fixture): void {
  it('replaces a refresh token by its successor', async () => {
    const { families } = current().store;
    const { made, token, request } = await newFamily(current());
    const first = request(token);
    expect(await families.rotate(first)).toEqual({ kind: 'rotated', family: made });
    expect(await families.find(token)).toEqual({ family: made, current: false });
    expect(await families.find(first.successor)).toEqual({ family: made, current: true });
    expect(await families.rotate(request(first.successor))).toEqual({ kind: 'rotated', family: made });
  });

  it('returns the same successor to concurrent refreshes with one token, and revokes nothing', async () => {
    const { families } = current().store;
    const { made, token, request } = await newFamily(current());
    const requests = Array.from({ length: 50 }, () => request(token));
    const rotations = await Promise.all(requests.map((each) => families.rotate(each)));
    const winners = requests.filter((_, index) => rotations[index]?.kind === 'rotated');
    expect(winners).toHaveLength(1);
    const successor = winners[0]?.successor;
    const replays = rotations.filter(({ kind }) => kind !== 'rotated');
    expect(replays).toEqual(Array.from({ length: 49 }, () => ({ kind: 'replayed', family: made, successor })));
    expect(await families.find(successor ?? '')).toEqual({ family: made, current: true });
  });

  it('revokes the family when a token is presented again after the grace period', async () => {
    const { store, elapse } = current();
    const { made, token, request } = await newFamily(current());
    const first = request(token, SHORT_MS);
    await store.families.rotate(first);
    expect((await store.families.rotate(request(token))).kind).toBe('replayed');
    await elapse(PAST_SHORT_MS);
    expect(await store.families.rotate(request(token))).toEqual({ kind: 'reused', family: made });
    expect(await store.families.get(made.id)).toBeUndefined();
    expect(await store.live.get(made.tsid)).toBeUndefined();
    expect(await store.families.rotate(request(first.successor))).toEqual({ kind: 'unknown' });
  });

  it('has no grace period when it is 0, nor for tokens before the previous one', async () => {
    const { families } = current().store;
    const strict = await newFamily(current());
    await families.rotate(strict.request(strict.token, 0));
    expect((await families.rotate(strict.request(strict.token))).kind).toBe('reused');
    const lenient = await newFamily(current());
    const first = lenient.request(lenient.token);
    await families.rotate(first);
    await families.rotate(lenient.request(first.successor));
    expect((await families.rotate(lenient.request(lenient.token))).kind).toBe('reused');
  });

  it('does not rotate a token of another family or an unknown token', async () => {
    const { families } = current().store;
    const [mine, theirs] = [await newFamily(current()), await newFamily(current())];
    expect(await families.rotate(mine.request(theirs.token))).toEqual({ kind: 'unknown' });
    expect(await families.rotate(mine.request(unique()))).toEqual({ kind: 'unknown' });
    expect(await families.rotate({ ...mine.request(mine.token), family: { id: unique(), tsid: unique() } })).toEqual({
      kind: 'unknown',
    });
    expect(await families.find(mine.token)).toEqual({ family: mine.made, current: true });
    expect(await families.find(theirs.token)).toEqual({ family: theirs.made, current: true });
  });

  it('extends a family when it is used', async () => {
    const { store, elapse, now } = current();
    const spans = { idleMs: 2 * SHORT_MS, liveMs: 2 * SHORT_MS };
    const [made, token, successor] = [family(now()), unique(), unique()];
    await store.families.create(made, token, spans);
    await elapse(SHORT_MS);
    await store.families.rotate({ family: made, token, successor, graceMs: HOUR_MS, ...SPANS });
    await elapse(2 * SHORT_MS);
    expect(await store.families.find(successor)).toEqual({ family: made, current: true });
    expect(await store.live.get(made.tsid)).toBeDefined();
    expect((await store.families.find(token))?.current).toBe(false);
  });
}

function revocationConformance(current: () => Fixture): void {
  it('revokes a family, its tokens and its liveness at once; a second call changes nothing', async () => {
    const { store } = current();
    const { made, token, request } = await newFamily(current());
    await store.families.revoke(made, HOUR_MS);
    await store.families.revoke(made, HOUR_MS);
    expect(await store.families.get(made.id)).toBeUndefined();
    expect(await store.families.find(token)).toBeUndefined();
    expect(await store.live.get(made.tsid)).toBeUndefined();
    expect(await store.families.rotate(request(token))).toEqual({ kind: 'unknown' });
  });

  it('does not create a family that was revoked before by a replay of its code', async () => {
    const { store, now } = current();
    const made = family(now());
    await store.families.revoke(made, HOUR_MS);
    expect(await store.families.create(made, unique(), SPANS)).toBe(false);
    expect(await store.live.get(made.tsid)).toBeUndefined();
  });

  it('leaves nothing valid after a revocation concurrent with refreshes', async () => {
    const { store } = current();
    for (let round = 0; round < 10; round += 1) {
      const { made, token, request } = await newFamily(current());
      const requests = Array.from({ length: 10 }, () => request(token));
      const refreshing = requests.map((each) => store.families.rotate(each));
      const revoking = store.families.revoke(made, HOUR_MS);
      const more = Array.from({ length: 10 }, () => store.families.rotate(request(token)));
      await revoking;
      expect(await store.live.get(made.tsid)).toBeUndefined();
      await Promise.all([...refreshing, ...more]);
      expect(await store.live.get(made.tsid)).toBeUndefined();
      for (const { successor } of requests) expect(await store.families.find(successor)).toBeUndefined();
    }
  });
}
