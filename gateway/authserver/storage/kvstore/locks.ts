import { randomUUID } from 'node:crypto';
import type { Script } from '../../../kvstore/key-value-store.ts';
import { sha256, wholeMs, type Records } from './sealed-records.ts';
import { msPerUse, type Locks, type Rates } from '../store.ts';

/** KEYS lock; ARGV fence. */
const RELEASE: Script = {
  name: 'vmcpLockRelease',
  lua: `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])`,
};

/** KEYS lock; ARGV fence, TTL. */
const RENEW: Script = {
  name: 'vmcpLockRenew',
  lua: `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`,
};

export function kvstoreLocks(records: Records): Locks {
  return {
    async acquire(name, ttlMs) {
      const fence = randomUUID();
      return (await records.set(records.key('lock', name), fence, ttlMs, 'NX')) ? { name, fence } : undefined;
    },
    renew: async ({ name, fence }, ttlMs) =>
      (await records.run(RENEW, [records.key('lock', name)], fence, wholeMs(ttlMs))) === 1,
    release: async ({ name, fence }) => (await records.run(RELEASE, [records.key('lock', name)], fence)) === 1,
  };
}

/**
 * KEYS bucket; ARGV capacity, ms per use. The TTL of the key is the time until the bucket is full: each use adds to it, so
 * that no clocks are compared. Returns 0, or the time to wait.
 */
const TAKE: Script = {
  name: 'vmcpRateTake',
  lua: `
local every = tonumber(ARGV[2])
local debt = math.max(redis.call('PTTL', KEYS[1]), 0) + every
local excess = debt - tonumber(ARGV[1]) * every
if excess > 0 then return excess end
redis.call('SET', KEYS[1], '1', 'PX', debt)
return 0`,
};

export function kvstoreRates(records: Records): Rates {
  return {
    async take(bucket, key, limit) {
      const name = records.key('rl', bucket, sha256(key));
      const waitMs = Number(await records.run(TAKE, [name], limit.capacity, msPerUse(limit)));
      return waitMs === 0 ? { allowed: true } : { allowed: false, retryAfterSeconds: Math.ceil(waitMs / 1_000) };
    },
  };
}
