import { describe, expect, it } from 'vitest';
import { memoryStore } from '../storage/memory.ts';
import type { LivenessReader } from '../storage/store.ts';
import { StoreUnavailable } from '../storage/store.ts';
import { family, HOUR_MS, SPANS } from '../storage/testdata/samples.ts';
import { createLoginLiveness } from './liveness.ts';

/** Memory store with one login, which counts its reads. */
async function world() {
  let now = 1_700_000_000_000;
  let down = false;
  let before: Promise<unknown> = Promise.resolve();
  const asked: string[] = [];
  const store = memoryStore(() => now);
  const login = family(now, { tsid: 'tsid-1' });
  await store.families.create(login, undefined, SPANS);
  const live: LivenessReader = {
    async get(tsid) {
      asked.push(tsid);
      if (down) throw new StoreUnavailable('down');
      const found = await store.live.get(tsid);
      await before;
      return found;
    },
  };
  return {
    ...{ store, login, asked, liveness: createLoginLiveness({ live }, () => now) },
    alice: { tsid: 'tsid-1', userId: login.login.userId, clientId: login.clientId },
    advance: (ms: number) => void (now += ms),
    setDown: (value: boolean) => void (down = value),
    hold: (until: Promise<unknown>) => void (before = until),
  };
}

describe('the liveness of a login', () => {
  it('is read once for concurrent calls, and cached for 5 s', async () => {
    const { liveness, alice, asked, advance } = await world();
    const answers = await Promise.all(Array.from({ length: 50 }, () => Promise.resolve(liveness.isLive(alice))));
    expect(new Set(answers)).toEqual(new Set([true]));
    advance(4_999);
    expect(liveness.isLive(alice)).toBe(true);
    expect(asked).toEqual(['tsid-1']);
    advance(1);
    expect(await liveness.isLive(alice)).toBe(true);
    expect(asked).toHaveLength(2);
  });

  it('is false for another user, another client and an unknown login', async () => {
    const { liveness, alice, asked } = await world();
    expect(await liveness.isLive({ ...alice, userId: 'bob' })).toBe(false);
    expect(liveness.isLive({ ...alice, clientId: 'browser' })).toBe(false);
    expect(liveness.isLive(alice)).toBe(true);
    expect(await liveness.isLive({ ...alice, tsid: 'unknown' })).toBe(false);
    expect(liveness.isLive({ ...alice, tsid: 'unknown' })).toBe(false);
    expect(asked).toEqual(['tsid-1', 'unknown']);
  });

  it('is false within 5 s of an end in another process, and at once after an end here, also for running reads', async () => {
    const { liveness, alice, store, login, advance, hold } = await world();
    expect(await liveness.isLive(alice)).toBe(true);
    await store.families.revoke(login, HOUR_MS);
    expect(liveness.isLive(alice)).toBe(true);
    advance(5_000);
    expect(await liveness.isLive(alice)).toBe(false);

    const again = await world();
    expect(await again.liveness.isLive(again.alice)).toBe(true);
    again.advance(5_000);
    let go: () => void = () => undefined;
    again.hold(new Promise<void>((resolve) => (go = resolve)));
    const asking = again.liveness.isLive(again.alice);
    await again.store.families.revoke(again.login, HOUR_MS);
    again.liveness.forget('tsid-1');
    expect(again.liveness.isLive(again.alice)).toBe(false);
    go();
    expect(await asking).toBe(false);
    hold(Promise.resolve());
  });

  it('rejects while the store is down, and does not cache that', async () => {
    const { liveness, alice, setDown } = await world();
    setDown(true);
    await expect(liveness.isLive(alice)).rejects.toThrow(StoreUnavailable);
    setDown(false);
    expect(await liveness.isLive(alice)).toBe(true);
  });

  it('is cached for at most 10,000 logins: the oldest are read again', async () => {
    const { liveness, alice, asked } = await world();
    await liveness.isLive(alice);
    for (let count = 0; count < 10_000; count += 1) await liveness.isLive({ ...alice, tsid: `flood-${String(count)}` });
    expect(asked).toHaveLength(10_001);
    expect(await liveness.isLive(alice)).toBe(true);
    expect(asked).toHaveLength(10_002);
  });
});
