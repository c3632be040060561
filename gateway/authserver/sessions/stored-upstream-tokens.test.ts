import { setTimeout as sleep } from 'node:timers/promises';
import { decodeJwt } from 'jose';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Secret } from '../../contract/identity.ts';
import type { UpstreamToken } from '../../outgoing/upstream-tokens.ts';
import { memoryStore } from '../storage/memory.ts';
import { upstreamLock } from '../storage/store.ts';
import { json, never, raw } from '../upstream/testdata/scripted-provider.ts';
import { faultOf } from './testdata/credential-failure.ts';
import { replicasOver, type Replicas } from './testdata/replicas.ts';

const ALICE = { tsid: 'tsid-of-alice', subject: 'alice', clientId: 'desktop' };
const FIRST = { accessToken: 'first-access', expiresIn: 3_600 };
const NEXT = { accessToken: 'second-access', expiresIn: 3_600 };

let replicas: Replicas;
beforeEach(async () => {
  replicas = await replicasOver(async (now) => [memoryStore(now)]);
});

const get = (need: { refused?: Secret; idToken?: boolean } = {}): UpstreamToken | Promise<UpstreamToken> =>
  replicas.sessions[0].upstreamTokens.get(ALICE, 'corp', need);
const accessOf = async (need?: Parameters<typeof get>[0]): Promise<string> => (await get(need)).accessToken.reveal();
const idOf = async (): Promise<string | undefined> =>
  decodeJwt((await get({ idToken: true })).idToken?.reveal() ?? '').jti;

describe('a cached token', () => {
  it('is returned synchronously for 5 s, as the same object while it does not change', async () => {
    await replicas.login(ALICE, 'corp', { grant: FIRST, refreshes: [NEXT] });
    const token = await get();
    expect(get()).toBe(token);
    replicas.advance(5_000);
    const again = get();
    expect(again).toBeInstanceOf(Promise);
    expect((await again).accessToken).toBe(token.accessToken);
    replicas.advance(3_600_000);
    expect((await get()).accessToken).not.toBe(token.accessToken);
  });

  it('is replaced by the newer one of another process within 5 s', async () => {
    await replicas.login(ALICE, 'corp', { grant: FIRST });
    await get();
    const row = await replicas.row(ALICE, 'corp');
    if (row) await replicas.store.upstreamTokens.put({ ...row, accessToken: 'of another process' }, 3_600_000);
    expect(await accessOf()).toBe('first-access');
    replicas.advance(5_000);
    expect(await accessOf()).toBe('of another process');
  });

  it('with a short life is refreshed after half of it, not at each call', async () => {
    const short = { accessToken: 'short', expiresIn: 40 };
    await replicas.login(ALICE, 'corp', { grant: { ...short, expiresIn: 1 }, refreshes: [short] });
    replicas.advance(1_000);
    for (let call = 0; call < 4; call += 1) {
      expect(await accessOf()).toBe('short');
      replicas.advance(4_000);
    }
    expect(replicas.refreshCount()).toBe(1);
    replicas.advance(5_000);
    await get();
    expect(replicas.refreshCount()).toBe(2);
  });
});

describe('a refresh', () => {
  it('keeps members that the provider omits, and the lifetime of the row', async () => {
    await replicas.login(ALICE, 'corp', { grant: { ...FIRST, idToken: 'id-1' }, refreshes: [NEXT] });
    const before = await replicas.row(ALICE, 'corp');
    replicas.advance(3_600_000);
    await get();
    const row = await replicas.row(ALICE, 'corp');
    expect(row).toMatchObject({ accessToken: 'second-access', idToken: before?.idToken, storedAt: before?.storedAt });
    expect(row?.refreshToken).not.toBe(before?.refreshToken);
    expect(replicas.events.map(([event]) => event)).toEqual(['upstream_refreshed']);
    expect(JSON.stringify([replicas.events, replicas.logged])).not.toMatch(/tsid-of|-access|refresh-token/u);
  });

  it('of a dead grant deletes the tokens, and fails every later call', async () => {
    await replicas.login(ALICE, 'corp', { grant: { ...FIRST, idToken: 'id-1' }, refreshes: ['dead'] });
    replicas.advance(3_600_000);
    expect(await faultOf(get)).toBe('reauthenticate');
    const row = await replicas.row(ALICE, 'corp');
    expect(row).toMatchObject({ dead: true, accessToken: '' });
    expect(row?.refreshToken ?? row?.idToken).toBeUndefined();
    expect(await faultOf(() => get({ idToken: true }))).toBe('reauthenticate');
    expect(replicas.events.map(([event]) => event)).toEqual(['upstream_token_dead']);
  });

  it('with a lost response keeps the token until it expires, and then requires a login', async () => {
    await replicas.login(ALICE, 'corp', { grant: { ...FIRST, expiresIn: 50 }, refreshes: [NEXT] });
    const row = await replicas.row(ALICE, 'corp');
    const { provider } = replicas.rotating;
    provider.answers['token'] = (res) => res.destroy();
    expect(await accessOf()).toBe('first-access');
    provider.answers['token'] = json({ error: 'invalid_grant' }, 400);
    expect(await accessOf()).toBe('first-access'); // the provider is left alone for a while
    expect(replicas.refreshCount()).toBe(1);
    replicas.advance(50_000);
    expect(await faultOf(get)).toBe('reauthenticate');
    expect(provider.to('token').map(({ form }) => form.get('refresh_token'))).toEqual(
      [1, 2].map(() => row?.refreshToken),
    );
  });

  it('keeps the rotated refresh token when only the keys are unavailable, and never sends the old one again', async () => {
    await replicas.login(ALICE, 'corp', {
      grant: FIRST,
      refreshes: [{ ...NEXT, idToken: 'id-2' }],
    });
    const { provider } = replicas.rotating;
    const keys = provider.answers['jwks'] ?? never;
    provider.answers['jwks'] = raw(503, {});
    const before = await replicas.row(ALICE, 'corp');
    replicas.advance(3_600_000);
    expect(await faultOf(get)).toBe('unavailable');
    const between = await replicas.row(ALICE, 'corp');
    expect(between).toMatchObject({ accessToken: 'first-access' });
    expect(between?.refreshToken).not.toBe(before?.refreshToken);
    provider.answers['jwks'] = keys;
    expect(await accessOf()).toBe('second-access');
    const shown = provider.to('token').map(({ form }) => form.get('refresh_token'));
    expect(shown).toEqual([before?.refreshToken, between?.refreshToken]);
    expect(replicas.rotating.replays()).toBe(0);
  });

  it('never uses tokens of an earlier upstream client', async () => {
    const row = { upstreamClientId: 'the client before' };
    await replicas.login(ALICE, 'corp', { grant: FIRST, refreshes: [NEXT], row });
    expect(await faultOf(get)).toBe('reauthenticate');
    expect(replicas.refreshCount()).toBe(0);
  });

  it('waits for the holder of the lock, and takes over if that has crashed', async () => {
    await replicas.login(ALICE, 'corp', { grant: FIRST, refreshes: [NEXT] });
    replicas.advance(3_600_000);
    await replicas.store.locks.acquire(upstreamLock(ALICE.tsid, 'corp'), 15_000);
    const waiting = accessOf();
    await sleep(300);
    expect(replicas.refreshCount()).toBe(0);
    replicas.advance(15_000);
    expect(await waiting).toBe('second-access');
  });

  it('continues after its caller has left, for later calls', async () => {
    await replicas.login(ALICE, 'corp', { grant: FIRST, refreshes: [NEXT] });
    replicas.advance(3_600_000);
    const [asked, answer] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
    replicas.rotating.meanwhile = () => {
      asked.resolve(undefined);
      return answer.promise;
    };
    const left = get();
    await asked.promise;
    const later = accessOf();
    answer.resolve(undefined);
    expect(await later).toBe('second-access');
    expect((await left).accessToken.reveal()).toBe('second-access');
    expect(replicas.refreshCount()).toBe(1);
  });

  it('that ends after a logout stores nothing and revokes its tokens', async () => {
    const family = await replicas.login(ALICE, 'corp', { grant: FIRST, refreshes: [NEXT] });
    replicas.advance(3_600_000);
    replicas.rotating.meanwhile = () => replicas.sessions[0].end(family);
    expect(await faultOf(get)).toBe('reauthenticate');
    expect(await replicas.store.upstreamTokens.all(ALICE.tsid)).toEqual([]);
    const { provider } = replicas.rotating;
    await expect.poll(() => provider.to('revoke').map(({ form }) => form.get('token'))).toContain('second-access');
  });

  it('that returns the rejected token again requires a login', async () => {
    await replicas.login(ALICE, 'corp', { grant: FIRST, refreshes: [FIRST] });
    const refused = (await get()).accessToken;
    expect(await faultOf(() => get({ refused }))).toBe('reauthenticate');
  });
});

describe('an ID token', () => {
  const WITH_ID = { ...FIRST, idToken: 'id-1', idTokenExpiresIn: 300 };

  it('that expires within 30 s is renewed on demand, even with a valid access token', async () => {
    const renewed = { ...NEXT, idToken: 'id-2', idTokenExpiresIn: 300 };
    await replicas.login(ALICE, 'corp', { grant: WITH_ID, refreshes: [renewed] });
    replicas.advance(271_000);
    expect(await accessOf()).toBe('first-access');
    expect(await idOf()).toBe('id-2');
    expect(await idOf()).toBe('id-2');
    expect(replicas.refreshCount()).toBe(1);
  });

  it('is requested once in 5 minutes if the provider issues none', async () => {
    await replicas.login(ALICE, 'corp', { grant: WITH_ID, refreshes: [NEXT] });
    replicas.advance(300_000);
    for (let call = 0; call < 5; call += 1) {
      expect(await idOf()).toBe('id-1'); // the expiry tells the strategy that it is not valid
      replicas.advance(10_000);
    }
    expect(replicas.refreshCount()).toBe(1);
    replicas.advance(300_000);
    await idOf();
    expect(replicas.refreshCount()).toBe(2);
  });

  it('that has expired does not demand a login while the provider is down', async () => {
    await replicas.login(ALICE, 'corp', { grant: WITH_ID, refreshes: ['unavailable'] });
    replicas.advance(280_000);
    expect(await idOf()).toBe('id-1');
    replicas.advance(20_000);
    expect(await faultOf(() => get({ idToken: true }))).toBe('unavailable');
    expect(await accessOf()).toBe('first-access');
  });
});

it('fails as forbidden for a provider that the upstream filter excludes', async () => {
  await replicas.login(ALICE, 'corp', { grant: FIRST, row: { accessToken: '', excluded: true } });
  expect(await faultOf(get)).toBe('forbidden');
  expect(await replicas.sessions[0].isUpstreamDead(ALICE.tsid)).toBe(false);
});

it('fails as misconfigured for an unknown provider', async () => {
  expect(await faultOf(() => replicas.sessions[0].upstreamTokens.get(ALICE, 'nobody'))).toBe('misconfigured');
});
