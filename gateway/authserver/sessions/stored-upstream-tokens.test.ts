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

describe('a token at hand', () => {
  it('is given at once for 5 s, and is the same object as long as it is the same text', async () => {
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

  it('is another process’ newer one 5 s after that has refreshed', async () => {
    await replicas.login(ALICE, 'corp', { grant: FIRST });
    await get();
    const row = await replicas.row(ALICE, 'corp');
    if (row) await replicas.store.upstreamTokens.put({ ...row, accessToken: 'of another process' }, 3_600_000);
    expect(await accessOf()).toBe('first-access');
    replicas.advance(5_000);
    expect(await accessOf()).toBe('of another process');
  });

  it('of a short-lived kind is refreshed in the middle of its life, not at each call', async () => {
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
  it('keeps what a provider leaves out, and the life of the row', async () => {
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

  it('of a dead grant leaves no token behind, and fails each need from then on', async () => {
    await replicas.login(ALICE, 'corp', { grant: { ...FIRST, idToken: 'id-1' }, refreshes: ['dead'] });
    replicas.advance(3_600_000);
    expect(await faultOf(get)).toBe('reauthenticate');
    const row = await replicas.row(ALICE, 'corp');
    expect(row).toMatchObject({ dead: true, accessToken: '' });
    expect(row?.refreshToken ?? row?.idToken).toBeUndefined();
    expect(await faultOf(() => get({ idToken: true }))).toBe('reauthenticate');
    expect(replicas.events.map(([event]) => event)).toEqual(['upstream_token_dead']);
  });

  it('whose reply gets lost goes on with the token until its end; then a login is asked for', async () => {
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

  it('keeps the rotated refresh token when only the keys are away, and never shows the old one again', async () => {
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

  it('never uses what another generation of our client at the provider got', async () => {
    const row = { upstreamClientId: 'the client before' };
    await replicas.login(ALICE, 'corp', { grant: FIRST, refreshes: [NEXT], row });
    expect(await faultOf(get)).toBe('reauthenticate');
    expect(replicas.refreshCount()).toBe(0);
  });

  it('waits for who holds the lock, and takes over when that has died', async () => {
    await replicas.login(ALICE, 'corp', { grant: FIRST, refreshes: [NEXT] });
    replicas.advance(3_600_000);
    await replicas.store.locks.acquire(upstreamLock(ALICE.tsid, 'corp'), 15_000);
    const waiting = accessOf();
    await sleep(300);
    expect(replicas.refreshCount()).toBe(0);
    replicas.advance(15_000);
    expect(await waiting).toBe('second-access');
  });

  it('goes on when its caller has left, for those who come later', async () => {
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

  it('that ends after a logout leaves nothing behind and revokes what it got', async () => {
    const family = await replicas.login(ALICE, 'corp', { grant: FIRST, refreshes: [NEXT] });
    replicas.advance(3_600_000);
    replicas.rotating.meanwhile = () => replicas.sessions[0].end(family);
    expect(await faultOf(get)).toBe('reauthenticate');
    expect(await replicas.store.upstreamTokens.all(ALICE.tsid)).toEqual([]);
    const { provider } = replicas.rotating;
    await expect.poll(() => provider.to('revoke').map(({ form }) => form.get('token'))).toContain('second-access');
  });

  it('that brings the refused token again asks for a login', async () => {
    await replicas.login(ALICE, 'corp', { grant: FIRST, refreshes: [FIRST] });
    const refused = (await get()).accessToken;
    expect(await faultOf(() => get({ refused }))).toBe('reauthenticate');
  });
});

describe('an ID token', () => {
  const WITH_ID = { ...FIRST, idToken: 'id-1', idTokenExpiresIn: 300 };

  it('that ends within 30 s is renewed when it is wanted, though the access token lives on', async () => {
    const renewed = { ...NEXT, idToken: 'id-2', idTokenExpiresIn: 300 };
    await replicas.login(ALICE, 'corp', { grant: WITH_ID, refreshes: [renewed] });
    replicas.advance(271_000);
    expect(await accessOf()).toBe('first-access');
    expect(await idOf()).toBe('id-2');
    expect(await idOf()).toBe('id-2');
    expect(replicas.refreshCount()).toBe(1);
  });

  it('is asked for once in 5 minutes where the provider gives none', async () => {
    await replicas.login(ALICE, 'corp', { grant: WITH_ID, refreshes: [NEXT] });
    replicas.advance(300_000);
    for (let call = 0; call < 5; call += 1) {
      expect(await idOf()).toBe('id-1'); // dated: whoever needs one that is valid sees that it is not
      replicas.advance(10_000);
    }
    expect(replicas.refreshCount()).toBe(1);
    replicas.advance(300_000);
    await idOf();
    expect(replicas.refreshCount()).toBe(2);
  });

  it('that has ended is no reason for a login while the provider does not answer', async () => {
    await replicas.login(ALICE, 'corp', { grant: WITH_ID, refreshes: ['unavailable'] });
    replicas.advance(280_000);
    expect(await idOf()).toBe('id-1');
    replicas.advance(20_000);
    expect(await faultOf(() => get({ idToken: true }))).toBe('unavailable');
    expect(await accessOf()).toBe('first-access');
  });
});

it('a provider that logins of this user leave out gives a failure that no login mends', async () => {
  await replicas.login(ALICE, 'corp', { grant: FIRST, row: { accessToken: '', excluded: true } });
  expect(await faultOf(get)).toBe('forbidden');
  expect(await replicas.sessions[0].isUpstreamDead(ALICE.tsid)).toBe(false);
});

it('a provider that is not configured is the operator’s matter', async () => {
  expect(await faultOf(() => replicas.sessions[0].upstreamTokens.get(ALICE, 'nobody'))).toBe('misconfigured');
});
