import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { startIdentityProvider } from '../../../examples/identity-provider/provider.ts';
import { eventually } from '../../../e2e/harness/poll.ts';
import { startRedis, type RedisServer } from '../../../e2e/harness/redis.ts';
import { testScope } from '../../../e2e/harness/scope.ts';
import { StoreUnavailable, type Store } from '../storage/store.ts';
import { redisStore, settingsOf, single } from '../storage/testdata/redis-store.ts';
import { Browser, callbackOf } from '../upstream/testdata/browser.ts';
import { SECRETS } from '../upstream/testdata/scripted-provider.ts';
import { oidcEntry, REDIRECT_URI, upstreamFor } from '../upstream/testdata/upstream-under-test.ts';
import type { Upstream } from '../upstream/upstream.ts';
import { faultOf } from './testdata/credential-failure.ts';
import { replicasOver, type Replicas } from './testdata/replicas.ts';

const ALICE = { tsid: 'tsid-of-alice', subject: 'alice', clientId: 'desktop' };
const FIRST = { accessToken: 'first-access', expiresIn: 3_600 };
const NEXT = { accessToken: 'second-access', expiresIn: 3_600 };
const THIRD = { accessToken: 'third-access', expiresIn: 3_600 };
const LIVE = { tsid: ALICE.tsid, userId: ALICE.subject, clientId: ALICE.clientId };

let redis: RedisServer;
let stores: [Store, Store];
beforeEach(async () => {
  redis = await startRedis(testScope());
  const settings = settingsOf(single(redis.port), { replyTimeoutMs: 1_500 });
  stores = [await redisStore(settings), await redisStore(settings)];
  onTestFinished(async () => {
    await Promise.all(stores.map((store) => store.close()));
  });
});

const start = (upstreams?: (now: () => number) => Promise<ReadonlyMap<string, Upstream>>): Promise<Replicas> =>
  replicasOver(async () => stores, upstreams && { upstreams });

/** Makes 25 concurrent calls in each process. */
async function race({ sessions }: Replicas): Promise<ReadonlySet<string>> {
  const callers = Array.from({ length: 25 }, () => sessions).flat();
  const got = await Promise.all(
    callers.map(async ({ upstreamTokens }) => (await upstreamTokens.get(ALICE, 'corp')).accessToken.reveal()),
  );
  return new Set(got);
}

describe('two processes over one Redis', () => {
  it('redeem each rotating refresh token once, and keep the new row', async () => {
    const replicas = await start();
    await replicas.login(ALICE, 'corp', { grant: FIRST, refreshes: [NEXT, THIRD] });
    for (const [index, access] of ['second-access', 'third-access'].entries()) {
      replicas.advance(3_600_000);
      expect(await race(replicas)).toEqual(new Set([access]));
      expect(replicas.refreshCount()).toBe(index + 1);
      expect(await replicas.row(ALICE, 'corp')).toMatchObject({ accessToken: access });
    }
    expect(replicas.rotating.replays()).toBe(0);
  });

  it('do so at a real provider that ends a grant after a second use of its refresh token', async () => {
    const idp = { port: 0, opaque: false, accessTokenSeconds: 600, log: () => undefined };
    const provider = await startIdentityProvider(idp);
    onTestFinished(() => provider.close());
    const registration = await fetch(`${provider.issuer}/reg`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        redirect_uris: [REDIRECT_URI],
        grant_types: ['authorization_code', 'refresh_token'],
        token_endpoint_auth_method: 'none',
      }),
    });
    const { client_id } = (await registration.json()) as { client_id: string };
    const upstreamOf = (now: () => number) =>
      upstreamFor(oidcEntry(provider, { client_id, scopes: ['openid'] }), { now }).upstream;
    const replicas = await start(async (now) => new Map([['corp', upstreamOf(now)]]));
    const upstream = upstreamOf(Date.now);
    const callback = await new Browser(REDIRECT_URI).login(await upstream.authorizationUrl(SECRETS), 'ann');
    const { grant } = await upstream.login(callbackOf(callback), SECRETS);
    const row = {
      refreshToken: grant.refreshToken?.reveal(),
      upstreamClientId: client_id,
      upstreamSubject: 'ann',
      idToken: undefined,
    };
    await replicas.login(ALICE, 'corp', { grant: { accessToken: grant.accessToken.reveal(), expiresIn: 600 }, row });
    const seen = new Set([grant.accessToken.reveal()]);
    for (let round = 0; round < 3; round += 1) {
      replicas.advance(600_000);
      const got = await race(replicas);
      expect(got.size).toBe(1);
      for (const token of got) seen.add(token);
    }
    expect(seen.size).toBe(4);
    const last = await replicas.row(ALICE, 'corp');
    expect(last?.refreshToken).not.toBe(row.refreshToken);
  });

  it('row 17: end a login in the other process within 5 s, and in their own at once', async () => {
    const replicas = await start();
    const [one, two = one] = replicas.sessions;
    const family = await replicas.login(ALICE, 'corp', { grant: FIRST });
    expect(await one.liveness.isLive(LIVE)).toBe(true);
    expect(await two.liveness.isLive(LIVE)).toBe(true);
    await one.end(family);
    expect(one.liveness.isLive(LIVE)).toBe(false);
    replicas.advance(5_000);
    expect(await two.liveness.isLive(LIVE)).toBe(false);
    expect(two.liveness.isLive(LIVE)).toBe(false);
    expect(await faultOf(() => two.upstreamTokens.get(ALICE, 'corp'))).toBe('reauthenticate');
  });
});

describe('a Redis that fails in the middle of a refresh', () => {
  /** Makes Redis reject scripts, so that rows cannot be replaced but can be deleted. */
  const forbidScripts = () => redis.cli('ACL', 'SETUSER', 'default', '-eval', '-evalsha');

  it('by hanging: no refresh token is lost or used twice', async () => {
    const replicas = await start();
    const [{ upstreamTokens }] = replicas.sessions;
    await replicas.login(ALICE, 'corp', { grant: FIRST, refreshes: [NEXT] });
    replicas.advance(3_600_000);
    replicas.rotating.meanwhile = () => {
      redis.pause();
    };
    expect(await faultOf(() => upstreamTokens.get(ALICE, 'corp'))).toBe('store_unavailable');
    redis.resume();
    const token = await eventually('Redis answers', async () => upstreamTokens.get(ALICE, 'corp'));
    expect(token.accessToken.reveal()).toBe('second-access');
    expect([replicas.refreshCount(), replicas.rotating.replays()]).toEqual([1, 0]);
  });

  it('by rejecting writes and deletes: the new tokens are stored when it is back', async () => {
    const replicas = await start();
    const [{ upstreamTokens }] = replicas.sessions;
    await replicas.login(ALICE, 'corp', { grant: FIRST, refreshes: [NEXT] });
    replicas.advance(3_600_000);
    const commands = ['eval', 'evalsha', 'del', 'srem'];
    const set = (sign: '+' | '-') => redis.cli('ACL', 'SETUSER', 'default', ...commands.map((name) => sign + name));
    replicas.rotating.meanwhile = () => set('-');
    expect(await faultOf(() => upstreamTokens.get(ALICE, 'corp'))).toBe('store_unavailable');
    expect(await replicas.row(ALICE, 'corp')).toMatchObject({ accessToken: 'first-access' });
    await set('+');
    const token = await eventually('the lock has run out', async () => upstreamTokens.get(ALICE, 'corp'));
    expect(token.accessToken.reveal()).toBe('second-access');
    expect(await replicas.row(ALICE, 'corp')).toMatchObject({ accessToken: 'second-access' });
    expect([replicas.refreshCount(), replicas.rotating.replays()]).toEqual([1, 0]);
  });

  it('by rejecting writes: a row with a used refresh token is deleted', async () => {
    const replicas = await start();
    const [{ upstreamTokens }] = replicas.sessions;
    await replicas.login(ALICE, 'corp', { grant: FIRST, refreshes: [NEXT] });
    replicas.advance(3_600_000);
    replicas.rotating.meanwhile = forbidScripts;
    expect(await faultOf(() => upstreamTokens.get(ALICE, 'corp'))).toBe('reauthenticate');
    expect(await replicas.row(ALICE, 'corp')).toBeUndefined();
  });

  it('by rejecting writes: tokens of a provider that does not rotate are still used', async () => {
    const replicas = await start();
    const [{ upstreamTokens }] = replicas.sessions;
    await replicas.login(ALICE, 'corp', { grant: FIRST, refreshes: [NEXT] });
    const { provider } = replicas.rotating;
    provider.answers['token'] = async (res) => {
      await forbidScripts();
      res.writeHead(200, { 'content-type': 'application/json' });
      res.end(JSON.stringify({ access_token: 'second-access', token_type: 'Bearer', expires_in: 3_600 }));
    };
    replicas.advance(3_600_000);
    expect((await upstreamTokens.get(ALICE, 'corp')).accessToken.reveal()).toBe('second-access');
    expect(await replicas.row(ALICE, 'corp')).toMatchObject({ accessToken: 'first-access' });
  });

  it('row 67: by stopping: calls fail as store_unavailable and demand no login', async () => {
    const replicas = await start();
    const [{ upstreamTokens, liveness, end, isUpstreamDead }] = replicas.sessions;
    const family = await replicas.login(ALICE, 'corp', { grant: FIRST });
    await redis.kill();
    expect(await faultOf(() => upstreamTokens.get(ALICE, 'corp'))).toBe('store_unavailable');
    await expect(liveness.isLive(LIVE)).rejects.toThrow(StoreUnavailable);
    await expect(liveness.isLive(LIVE)).rejects.toThrow(StoreUnavailable);
    await expect(isUpstreamDead(ALICE.tsid)).rejects.toThrow(StoreUnavailable);
    await expect(end(family)).rejects.toThrow(StoreUnavailable);
  });
});
