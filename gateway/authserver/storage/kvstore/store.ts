import { randomUUID } from 'node:crypto';
import type { KeyValueStore, Script } from '../../../kvstore/key-value-store.ts';
import { kvstoreClients, kvstoreUsers } from './clients.ts';
import { kvstoreCodes, kvstoreLoginAttempts } from './codes.ts';
import { kvstoreFamilies } from './families.ts';
import { SealedRecords, sha256, wholeMs } from './sealed-records.ts';
import { kvstoreUpstreamTokens } from './upstream-rows.ts';
import type { Sealer } from '../sealing.ts';
import { msPerUse, type Locks, type Rates, type Registrations, type Store } from '../store.ts';

/**
 * Returns a store on a key-value store, which several processes can share; see STORAGE.md. `close` also closes `store`.
 * @param now ms since the epoch.
 */
export function kvstoreStore(store: KeyValueStore, sealer: Sealer, now: () => number): Store {
  const records = new SealedRecords(store, sealer, now);
  return {
    loginAttempts: kvstoreLoginAttempts(records),
    codes: kvstoreCodes(records),
    ...kvstoreFamilies(records),
    clients: kvstoreClients(records),
    users: kvstoreUsers(records),
    upstreamTokens: kvstoreUpstreamTokens(records),
    registrations: kvstoreRegistrations(records),
    locks: kvstoreLocks(records),
    rates: kvstoreRates(records),
    /** Reads a key, so that in a cluster the node with the keys of this virtual server answers. */
    async health() {
      await records.command('EXISTS', records.key('health'));
    },
    close: async () => store.close(),
  };
}

function kvstoreRegistrations(records: SealedRecords): Registrations {
  const keyOf = (key: string): string => records.key('reg', key);
  return {
    async get(key) {
      const record = await records.getSealed<{ readonly text: string }>(keyOf(key));
      return record?.text;
    },
    async put(key, text) {
      await records.command('SET', keyOf(key), records.seal(keyOf(key), { text }));
    },
    async delete(key) {
      await records.command('DEL', keyOf(key));
    },
  };
}

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

function kvstoreLocks(records: SealedRecords): Locks {
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

function kvstoreRates(records: SealedRecords): Rates {
  return {
    async take(bucket, key, limit) {
      const name = records.key('rl', bucket, sha256(key));
      const waitMs = Number(await records.run(TAKE, [name], limit.capacity, msPerUse(limit)));
      return waitMs === 0 ? { allowed: true } : { allowed: false, retryAfterSeconds: Math.ceil(waitMs / 1_000) };
    },
  };
}
