import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { eventually } from '../../../e2e/harness/poll.ts';
import { startRedis, type RedisServer } from '../../../e2e/harness/redis.ts';
import { testScope, type Scope } from '../../../e2e/harness/scope.ts';
import { openKeyValueStore } from '../../kvstore/open.ts';
import type { BucketScope, Taken } from './buckets.ts';
import { bucketPlans, type RateLimitPlansConfig } from './rate-limit.ts';
import { StoreBuckets } from './store-buckets.ts';

const PREFIX = 'vmcp:rl:{default:desk}:';

/** Longest wait for a reply; long enough for a busy machine where no test is about the limit. */
const REPLY_MS = 10_000;

/** Opens the buckets of one replica. `skewMs` moves its clock. */
function replica(
  scope: Scope,
  { port }: RedisServer,
  limits: RateLimitPlansConfig,
  { skewMs = 0, replyTimeoutMs = REPLY_MS } = {},
) {
  const lines: string[] = [];
  const counts = { errors: 0, answers: 0 };
  const log = (message: string): void => void lines.push(message);
  const servers = { kind: 'single', address: { host: '127.0.0.1', port } } as const;
  const settings = { servers, db: 0, keyPrefix: PREFIX, connectTimeoutMs: 1_000, replyTimeoutMs };
  const store = openKeyValueStore(settings, { warn: () => undefined, info: () => undefined });
  const buckets = new StoreBuckets({
    store,
    clock: () => performance.now() + skewMs,
    observer: {
      decided: (_scope: BucketScope) => undefined,
      failedOpen: () => undefined,
      storeFailed: () => (counts.errors += 1),
      storeAnswered: () => (counts.answers += 1),
    },
    log: { warn: log, info: log },
  });
  scope.defer(() => {
    buckets.close();
    store.close();
  });
  const planOf = bucketPlans(limits);
  const take = async (tool = 'any', user = 'ann'): Promise<Taken> => {
    const plan = planOf(tool);
    if (!plan) throw new Error('no plan');
    return buckets.take(plan, user);
  };
  const ready = () =>
    eventually('the store answers', async () => (await store.command('EXISTS', store.key('a'))) === 0);
  return { take, ready, lines, counts };
}

const countOf = (outcomes: readonly Taken[], kind: Taken['kind']): number =>
  outcomes.filter((outcome) => outcome.kind === kind).length;

/** Calls until every replica has been refused `refusals` times in a row. */
async function drain(replicas: readonly { take: () => Promise<Taken> }[], batch: number): Promise<number> {
  const taken = await Promise.all(
    replicas.map(async ({ take }) => {
      let total = 0;
      for (let empty = 0; empty < 3;) {
        const outcomes = await Promise.all(Array.from({ length: batch }, () => take()));
        const got = countOf(outcomes, 'taken');
        expect(countOf(outcomes, 'unavailable')).toBe(0);
        total += got;
        empty = got === 0 ? empty + 1 : 0;
      }
      return total;
    }),
  );
  return taken.reduce((sum, each) => sum + each, 0);
}

const perUser = (maxTokens: number, refillPeriod: string) => ({ perUser: { maxTokens, refillPeriod } });

describe('replicas that share a store', () => {
  it.each([1, 40])('share a bucket of 1,000 tokens exactly, with %i calls at a time', async (batch) => {
    const scope = testScope();
    const redis = await startRedis(scope);
    const replicas = [0, 3_600_000, -3_600_000].map((skew) =>
      replica(scope, redis, perUser(1_000, '8760h'), { skewMs: skew }),
    );
    await Promise.all(replicas.map(({ ready }) => ready()));
    expect(await drain(replicas, batch)).toBe(1_000);
  });

  it('share a large bucket with an error below 1 in 1,000, although they lease tokens', async () => {
    const scope = testScope();
    const redis = await startRedis(scope);
    const replicas = [0, 1, 2].map(() => replica(scope, redis, perUser(60_000, '8760h')));
    await Promise.all(replicas.map(({ ready }) => ready()));
    const total = await drain(replicas, 1);
    expect(total).toBeLessThanOrEqual(60_000);
    expect(total).toBeGreaterThan(60_000 - 60);
    const answers = replicas.reduce((sum, { counts }) => sum + counts.answers, 0);
    expect(answers).toBeLessThan(total / 2);
  });

  it('put unused leases back', async () => {
    const scope = testScope();
    const redis = await startRedis(scope);
    const { take, ready } = replica(scope, redis, perUser(1_000_000, '8760h'));
    await ready();
    for (let call = 0; call < 50; call += 1) expect((await take()).kind).toBe('taken');
    await eventually('the bucket holds every other token', async () => {
      const [tokens = ''] = (await redis.cli('GET', `${PREFIX}user:ann`)).split(' ');
      return Math.round(Number(tokens)) === 999_950;
    });
  });

  it('take a token of every bucket or of none', async () => {
    const scope = testScope();
    const redis = await startRedis(scope);
    const tools = [{ name: 'find', shared: { maxTokens: 2, refillPeriod: '1h' }, ...perUser(1, '1h') }];
    const limits = { shared: { maxTokens: 5, refillPeriod: '1h' }, tools };
    const { take, ready } = replica(scope, redis, limits);
    await ready();
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => take('find')));
    expect(countOf(outcomes, 'taken')).toBe(1);
    expect(outcomes.at(-1)).toMatchObject({ kind: 'empty', scope: 'user_tool' });
    expect((await take('find', 'bob')).kind).toBe('taken');
    expect(await take('find', 'cid')).toMatchObject({ kind: 'empty', scope: 'tool' });
    const others = await Promise.all(Array.from({ length: 9 }, () => take()));
    expect(countOf(others, 'taken')).toBe(3);
    expect(others.at(-1)).toMatchObject({ kind: 'empty', scope: 'shared' });
    expect((await redis.cli('KEYS', '*')).split('\n').toSorted()).toEqual([
      `${PREFIX}shared`,
      `${PREFIX}shared:tool:4:find`,
      `${PREFIX}user-tool:4:find:ann`,
      `${PREFIX}user-tool:4:find:bob`,
    ]);
  });

  it('refill continuously, and remove the keys of full buckets', async () => {
    const scope = testScope();
    const redis = await startRedis(scope);
    const { take, ready } = replica(scope, redis, perUser(2, '400ms'));
    await ready();
    expect([await take(), await take()].map(({ kind }) => kind)).toEqual(['taken', 'taken']);
    const refused = await take();
    expect(refused.kind).toBe('empty');
    await sleep(refused.kind === 'empty' ? refused.waitMs + 10 : 0); // timers may be some ms early
    expect((await take()).kind).toBe('taken');
    await eventually('no key is left', async () => (await redis.cli('DBSIZE')) === '0');
  });

  it('ask the store no more about an empty bucket until it has a token', async () => {
    const scope = testScope();
    const redis = await startRedis(scope);
    const { take, ready, counts } = replica(scope, redis, perUser(1, '1h'));
    await ready();
    await Promise.all([take(), take()]);
    const before = counts.answers;
    for (let call = 0; call < 1_000; call += 1) expect((await take()).kind).toBe('empty');
    expect(counts.answers).toBe(before);
    expect((await take('any', 'bob')).kind).toBe('taken');
  });
});

describe('an outage of the store', () => {
  it('makes buckets unavailable within the time limit, logs once, and ends without a restart', async () => {
    const scope = testScope();
    const redis = await startRedis(scope);
    const { take, ready, lines, counts } = replica(scope, redis, perUser(1_000, '1h'), { replyTimeoutMs: 200 });
    await ready();
    redis.pause();
    const startedAt = performance.now();
    expect((await take()).kind).toBe('unavailable');
    expect(performance.now() - startedAt).toBeLessThan(REPLY_MS / 2);
    const asked = counts.errors;
    for (let call = 0; call < 100; call += 1) expect((await take()).kind).toBe('unavailable');
    expect(counts.errors).toBe(asked);
    redis.resume();
    const isBack = async () => (await take()).kind === 'taken';
    await eventually('the buckets are available', isBack);
    await redis.kill();
    await eventually('the buckets are unavailable', async () => (await take()).kind === 'unavailable');
    await startRedis(scope, { port: redis.port });
    await eventually('the buckets are available', isBack);
    expect(lines).toEqual([
      expect.stringContaining('unavailable'),
      'the store of rate limits answers again',
      expect.stringContaining('unavailable'),
      'the store of rate limits answers again',
    ]);
  });
});
