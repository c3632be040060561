import { describe, expect, it } from 'vitest';
import { msUntilToken, retryAfterSeconds, tokensAt, type BucketLimit, type Taken } from './buckets.ts';
import { MemoryBuckets } from './memory-buckets.ts';
import { bucketPlans } from './rate-limit.ts';

/** Returns numbers from 0 to 1 that depend on the seed only (mulberry32). */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const limit: BucketLimit = { maxTokens: 4, periodMs: 2_000 };

describe('a bucket', () => {
  it('gains its size in one period, continuously, and never more than its size', () => {
    const empty = { tokens: 0, at: 1_000 };
    expect([1_000, 1_250, 1_500, 3_000, 9_000].map((now) => tokensAt(empty, limit, now))).toEqual([0, 0.5, 1, 4, 4]);
  });

  it('gains nothing from a clock that went back', () => {
    expect(tokensAt({ tokens: 1.5, at: 1_000 }, limit, 10)).toBe(1.5);
  });

  it('has a token exactly after the announced wait, in seconds rounded up', () => {
    expect([0, 0.5, 1, 3].map((tokens) => msUntilToken(tokens, limit))).toEqual([500, 250, 0, 0]);
    expect([0, 1, 999, 1_000, 1_001].map(retryAfterSeconds)).toEqual([1, 1, 1, 1, 2]);
  });
});

/** Makes calls at random times, and returns the times at which they were allowed. */
function allowedTimes(seed: number, { maxTokens, periodMs }: BucketLimit): number[] {
  const next = random(seed);
  let now = next() * 1e6;
  const buckets = new MemoryBuckets(() => now);
  const plan = bucketPlans({ shared: { maxTokens, refillPeriod: `${String(periodMs)}ms` } })('any');
  if (!plan) throw new Error('no plan');
  const times: number[] = [];
  for (let call = 0; call < 400; call += 1) {
    // bursts, calls in step with the refill, pauses, and clocks that jump back
    const step = [0, next() * 2, periodMs / maxTokens, next() * periodMs * 3, -next() * 1_000][Math.floor(next() * 5)];
    now += step ?? 0;
    if (buckets.take(plan, 'anybody').kind === 'taken') times.push(now);
  }
  return times;
}

describe('calls at random times', () => {
  it('never exceed the size plus the refill in any window', () => {
    for (let seed = 1; seed <= 200; seed += 1) {
      const next = random(seed * 7_919);
      const given = { maxTokens: 1 + Math.floor(next() * 20), periodMs: 1 + Math.floor(next() * 5_000) };
      const times = allowedTimes(seed, given);
      const { maxTokens, periodMs } = given;
      times.forEach((_, first) => {
        let elapsed = 0;
        for (let last = first; last < times.length; last += 1) {
          if (last > first) elapsed += Math.max(0, (times[last] ?? 0) - (times[last - 1] ?? 0));
          const most = maxTokens + (elapsed * maxTokens) / periodMs;
          if (last - first + 1 > most + 1e-6)
            throw new Error(`seed ${String(seed)}: ${String(last - first + 1)} calls in ${String(elapsed)} ms`);
        }
      });
      expect(times.length).toBeGreaterThan(0);
    }
  });
});

const ALL = {
  shared: { maxTokens: 100, refillPeriod: '1m' },
  perUser: { maxTokens: 10, refillPeriod: '1m' },
  tools: [
    { name: 'find', shared: { maxTokens: 5, refillPeriod: '1m' }, perUser: { maxTokens: 1, refillPeriod: '1m' } },
    { name: 'a', perUser: { maxTokens: 1, refillPeriod: '1m' } },
    { name: 'a:5', perUser: { maxTokens: 1, refillPeriod: '1m' } },
  ],
};

describe('the plan of a tool', () => {
  const planOf = bucketPlans(ALL);
  const keys = (tool: string, principal: string) =>
    planOf(tool)
      ?.usesOf(principal)
      .map(({ key }) => key);

  it('has its buckets in the order shared, tool, user, user and tool', () => {
    expect(planOf('find')?.scopes).toEqual(['shared', 'tool', 'user', 'user_tool']);
    const user = '19:https://issuer.testann';
    expect(keys('find', user)).toEqual(['shared', 'shared:tool:4:find', `user:${user}`, `user-tool:4:find:${user}`]);
    expect(keys('other', user)).toEqual(['shared', `user:${user}`]);
  });

  it('keeps every pair of tool and user apart', () => {
    const pairs = ['a', 'a:5'].flatMap((tool) => ['5:b', '5:5:b', ':tool:a'].map((user) => [tool, user] as const));
    const own = pairs.map(([tool, user]) => keys(tool, user)?.at(-1));
    expect(new Set(own).size).toBe(pairs.length);
    expect(new Set(pairs.map(([tool, user]) => planOf(tool)?.idOf(user))).size).toBe(pairs.length);
  });

  it('is absent where no limit applies', () => {
    const only = bucketPlans({ tools: [{ name: 'find', shared: { maxTokens: 1, refillPeriod: '1s' } }] });
    expect([only('find')?.scopes, only('constructor'), only('other')]).toEqual([['tool'], undefined, undefined]);
  });
});

describe('buckets in memory', () => {
  const planOf = bucketPlans(ALL);
  const taker = (clock: () => number, most?: number) => {
    const buckets = new MemoryBuckets(clock, most);
    const take = (tool: string, user: string): Taken => {
      const plan = planOf(tool);
      if (!plan) throw new Error('no plan');
      return buckets.take(plan, user);
    };
    return { buckets, take };
  };

  it('take a token of every bucket or of none', () => {
    const { take } = taker(() => 0);
    expect(take('find', 'ann')).toEqual({ kind: 'taken' });
    for (let call = 0; call < 50; call += 1)
      expect(take('find', 'ann')).toEqual({ kind: 'empty', scope: 'user_tool', waitMs: 60_000 });
    // the refused calls have cost ann nothing: 9 of 10 tokens are left
    for (let call = 0; call < 9; call += 1) expect(take('other', 'ann').kind).toBe('taken');
    expect(take('other', 'ann')).toEqual({ kind: 'empty', scope: 'user', waitMs: 6_000 });
    // nor anybody else: 4 of 5 tokens of the tool are left
    for (const user of ['bob', 'cid', 'dan', 'eve']) expect(take('find', user).kind).toBe('taken');
    expect(take('find', 'fay')).toEqual({ kind: 'empty', scope: 'tool', waitMs: 12_000 });
  });

  it('forget full buckets, and the oldest ones beyond the limit', () => {
    let now = 0;
    const { buckets, take } = taker(() => now, 2_000);
    for (let user = 0; user < 1_500; user += 1) {
      now += 700;
      take('other', `user ${String(user)}`);
    }
    expect(buckets.size).toBeLessThan(1_200);
    for (let user = 0; user < 5_000; user += 1) {
      now += 600;
      take('other', `other ${String(user)}`);
    }
    expect(buckets.size).toBeLessThanOrEqual(2_000);
  });
});
