import { beforeEach, describe, expect, it } from 'vitest';
import { memoryStore } from '../storage/memory.ts';
import { family, SPANS, unique } from '../storage/testdata/samples.ts';
import { never } from '../upstream/testdata/scripted-provider.ts';
import { faultOf } from './testdata/credential-failure.ts';
import { replicasOver, type Replicas } from './testdata/replicas.ts';

const ALICE = { tsid: 'tsid-of-alice', subject: 'alice', clientId: 'desktop' };
const ELSEWHERE = { ...ALICE, tsid: 'tsid-of-alice-elsewhere' };
const BOB = { tsid: 'tsid-of-bob', subject: 'bob', clientId: 'desktop' };
const FIRST = { accessToken: 'first-access', expiresIn: 3_600 };
const NEXT = { accessToken: 'second-access', expiresIn: 3_600 };

let replicas: Replicas;
beforeEach(async () => {
  replicas = await replicasOver(async (now) => [memoryStore(now)]);
});

const get = (provider = 'corp', owner = ALICE) => replicas.sessions[0].upstreamTokens.get(owner, provider);
const isDead = () => replicas.sessions[0].isUpstreamDead(ALICE.tsid);
const revoked = () => replicas.rotating.provider.to('revoke').map(({ form }) => form.get('token'));

describe('the end of a login', () => {
  it('deletes all its records and revokes its tokens at the providers', async () => {
    const { sessions, store } = replicas;
    const login = await replicas.login(ALICE, 'corp', { grant: FIRST, refreshes: [NEXT] });
    const row = await replicas.row(ALICE, 'corp');
    const live = { tsid: ALICE.tsid, userId: ALICE.subject, clientId: ALICE.clientId };
    expect(await sessions[0].liveness.isLive(live)).toBe(true);
    await get();
    await sessions[0].end(login);
    expect(sessions[0].liveness.isLive(live)).toBe(false);
    expect(await store.families.get(login.id)).toBeUndefined();
    expect(await store.upstreamTokens.all(ALICE.tsid)).toEqual([]);
    expect(await faultOf(get)).toBe('reauthenticate');
    await expect.poll(revoked).toEqual([row?.refreshToken, 'first-access']);
  });

  it('does not wait for providers', async () => {
    const login = await replicas.login(ALICE, 'corp', { grant: FIRST, refreshes: [NEXT] });
    replicas.rotating.provider.answers['revoke'] = never;
    const startedAt = performance.now();
    await replicas.sessions[0].end(login);
    expect(performance.now() - startedAt).toBeLessThan(4_000);
    await expect.poll(revoked).toHaveLength(1);
  });

  it('revokes no token at a provider while the user has another login there', async () => {
    const login = await replicas.login(ALICE, 'corp', { grant: FIRST, refreshes: [NEXT] });
    const other = await replicas.login(ELSEWHERE, 'corp', { grant: NEXT });
    const stranger = await replicas.login(BOB, 'corp', { grant: { accessToken: 'of-bob' } });
    await replicas.sessions[0].end(login);
    await replicas.sessions[0].end(stranger);
    await expect.poll(revoked).toEqual(['of-bob']);
    expect((await get('corp', ELSEWHERE)).accessToken.reveal()).toBe('second-access');
    await replicas.sessions[0].end(other);
    await expect.poll(revoked).toEqual(['of-bob', 'second-access']);
  });

  it('before its family exists prevents its creation: the code was replayed', async () => {
    const replayed = family(replicas.now());
    await replicas.sessions[0].end(replayed);
    replicas.advance(30 * 60_000);
    expect(await replicas.store.families.create(replayed, unique(), SPANS)).toBe(false);
  });

  it('ends all logins of a client, and of no other', async () => {
    const { sessions, store } = replicas;
    for (let count = 0; count < 25; count += 1) {
      await replicas.login({ ...ALICE, tsid: `tsid-${String(count)}` }, 'corp', { grant: FIRST });
    }
    const kept = await replicas.login({ ...BOB, clientId: 'browser' }, 'corp', { grant: FIRST });
    await sessions[0].endAllOf('desktop');
    expect(await store.families.ofClient('desktop')).toEqual([]);
    for (let count = 0; count < 25; count += 1) {
      expect(await store.live.get(`tsid-${String(count)}`)).toBeUndefined();
      expect(await store.upstreamTokens.all(`tsid-${String(count)}`)).toEqual([]);
    }
    expect(await store.families.get(kept.id)).toBeDefined();
  });
});

describe('the upstream grant of a login is dead', () => {
  it('if a refresh at the first provider shows that it has ended the grant', async () => {
    await replicas.login(ALICE, 'corp', { grant: FIRST, refreshes: ['dead'] });
    expect(await isDead()).toBe(false);
    expect(replicas.refreshCount()).toBe(0);
    replicas.advance(3_600_000);
    expect(await isDead()).toBe(true);
    expect(await isDead()).toBe(true);
    expect(replicas.refreshCount()).toBe(1);
  });

  it('but not while the first provider refreshes, fails temporarily or issues no refresh token', async () => {
    await replicas.login(ALICE, 'corp', { grant: FIRST, refreshes: ['unavailable', NEXT] });
    replicas.advance(3_600_000);
    expect(await isDead()).toBe(false);
    expect(await isDead()).toBe(false);
    expect(await replicas.row(ALICE, 'corp')).toMatchObject({ accessToken: 'second-access' });
    await replicas.login(ALICE, 'corp', { grant: FIRST });
    replicas.advance(3_600_000);
    expect(await isDead()).toBe(false);
  });

  it('and the check takes at most 5 s when a provider never answers', async () => {
    await replicas.login(ALICE, 'corp', { grant: FIRST, refreshes: [NEXT] });
    replicas.rotating.provider.answers['token'] = never;
    replicas.advance(3_600_000);
    const startedAt = performance.now();
    expect(await isDead()).toBe(false);
    expect(performance.now() - startedAt).toBeLessThan(8_000);
  });

  it('if a later provider has ended its grant, after the client was told so', async () => {
    await replicas.login(ALICE, 'corp', { grant: FIRST, refreshes: [NEXT] });
    await replicas.login(ALICE, 'github', { grant: { ...FIRST, expiresIn: 60 }, refreshes: ['dead'] });
    replicas.advance(60_000);
    expect(await isDead()).toBe(false);
    expect(await faultOf(() => get('github'))).toBe('reauthenticate');
    expect(await isDead()).toBe(true);
    expect((await get()).accessToken.reveal()).toBe('first-access');
  });

  it.each([
    ['is missing', undefined],
    ['has expired without a refresh token', { grant: { ...FIRST, expiresIn: 60 } }],
    ['is of another client of ours', { grant: FIRST, refreshes: [NEXT], row: { upstreamClientId: 'before' } }],
  ])('if the client was told to log in again because a token %s', async (_, login) => {
    await replicas.login(ALICE, 'corp', { grant: FIRST, refreshes: [NEXT] });
    if (login) await replicas.login(ALICE, 'github', login);
    replicas.advance(60_000);
    expect(await isDead()).toBe(false);
    const callers = Array.from({ length: 20 }, () => faultOf(() => get('github')));
    expect(new Set(await Promise.all(callers))).toEqual(new Set(['reauthenticate']));
    expect(await isDead()).toBe(true);
    expect(await replicas.row(ALICE, 'github')).toMatchObject({ challenged: true });
  });

  it('if a backend has rejected a token that cannot be refreshed', async () => {
    await replicas.login(ALICE, 'corp', { grant: FIRST });
    const { accessToken: refused } = await get();
    expect(await faultOf(() => replicas.sessions[0].upstreamTokens.get(ALICE, 'corp', { refused }))).toBe(
      'reauthenticate',
    );
    expect(await isDead()).toBe(true);
  });

  it('if a strategy needs an ID token that the provider does not renew', async () => {
    await replicas.login(ALICE, 'corp', {
      grant: { ...FIRST, idToken: 'id-1', idTokenExpiresIn: 60 },
      refreshes: [NEXT],
    });
    replicas.advance(60_000);
    await replicas.sessions[0].upstreamTokens.get(ALICE, 'corp', { idToken: true });
    expect(await isDead()).toBe(true);
  });

  it('but not for a login that has ended, nor after a call of another login', async () => {
    expect(await faultOf(get)).toBe('reauthenticate');
    expect(await replicas.store.upstreamTokens.all(ALICE.tsid)).toEqual([]);
    await replicas.login(ALICE, 'corp', { grant: FIRST });
    const thief = { ...BOB, tsid: ALICE.tsid };
    expect(await faultOf(() => get('corp', thief))).toBe('reauthenticate');
    expect(await faultOf(() => get('github', thief))).toBe('reauthenticate');
    expect(await isDead()).toBe(false);
  });
});

it('clears the marks of a row after a successful refresh', async () => {
  const row = { challenged: true };
  await replicas.login(ALICE, 'corp', { grant: { ...FIRST, expiresIn: 1 }, refreshes: [NEXT], row });
  replicas.advance(1_000);
  await get();
  expect(await isDead()).toBe(false);
});
