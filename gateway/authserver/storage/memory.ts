import { randomUUID } from 'node:crypto';
import { Closed } from '../../contract/fields.ts';
import { ExpiringMap } from '../../kit/cache.ts';
import { LOGIN_ATTEMPT_LIMITS, memoryLoginAttempts, type LoginAttemptLimits } from './memory-login-attempts.ts';
import { memoryClients } from './memory-clients.ts';
import { memoryFamilies } from './memory-families.ts';
import { memoryUpstreamRows } from './memory-upstream-rows.ts';
import { RecordsFile, savingStore, type SavedCodes, type SavedRecords } from './records-file.ts';
import type { CodeGrant, FamilyRef, User } from './records.ts';
import { msPerUse, type Codes, type Locks, type Rates, type Registrations, type Store, type Users } from './store.ts';
import { defineStore } from './variant.ts';

/**
 * Keeps records in the process, and other replicas do not see them. With a file of records (`vmcp up`) they outlive the process.
 */
export const memory = defineStore({
  type: 'memory',
  description: 'Lost on restart, one replica only.',
  isShared: false,
  survivesRestart: false,
  spec: undefined,
  config: Closed({}),
  resolve: () => ({}),
  async create(_config, { now, log, secrets, keyPrefix, records }) {
    if (records) return savedStore(now, await RecordsFile.open({ ...records, secrets, keyPrefix, log }));
    log.warn('the authorization server keeps all records in memory: a restart ends every login');
    return memoryStore(now);
  },
});

interface MemoryLimits {
  readonly loginAttempts: LoginAttemptLimits;
  readonly maxFamilies: number;
  /** Most bytes of unused registered clients, and of unused copies of documents. */
  readonly maxUnusedBytes: number;
  readonly maxRateKeys: number;
}

const LIMITS: MemoryLimits = {
  loginAttempts: LOGIN_ATTEMPT_LIMITS,
  maxFamilies: 100_000,
  maxUnusedBytes: 32 * 1024 * 1024,
  maxRateKeys: 100_000,
};

/** Returns a store in the memory of this process. @param now ms since the epoch. */
export const memoryStore = (now: () => number, limits: Partial<MemoryLimits> = {}): Store =>
  memoryTables(now, limits).store;

/** Returns a store whose records are in memory and in a file. */
function savedStore(now: () => number, file: RecordsFile): Store {
  const loaded = memoryTables(now, {});
  const { store, save } = file.load(loaded.load) ? loaded : memoryTables(now, {});
  return savingStore(store, () => file.write(save));
}

interface MemoryTables {
  readonly store: Store;
  readonly save: () => SavedRecords;
  readonly load: (saved: SavedRecords) => void;
}

function memoryTables(now: () => number, limits: Partial<MemoryLimits>): MemoryTables {
  const { loginAttempts, maxFamilies, maxUnusedBytes, maxRateKeys } = { ...LIMITS, ...limits };
  const locks = memoryLocks(now);
  const codes = memoryCodes(now);
  const families = memoryFamilies(now, maxFamilies);
  const clients = memoryClients(now, maxUnusedBytes);
  const users = memoryUsers();
  const upstreamTokens = memoryUpstreamRows(now, locks.held);
  const registrations = memoryRegistrations();
  const store: Store = {
    loginAttempts: memoryLoginAttempts(now, loginAttempts),
    codes: codes.codes,
    families: families.families,
    live: families.live,
    clients: clients.clients,
    users: users.users,
    upstreamTokens: upstreamTokens.rows,
    registrations: registrations.registrations,
    locks: locks.locks,
    rates: memoryRates(now, maxRateKeys),
    health: async () => undefined,
    close: async () => undefined,
  };
  return {
    store,
    save: () => ({
      ...codes.save(),
      ...families.save(),
      clients: clients.save(),
      users: users.save(),
      upstreamTokens: upstreamTokens.save(),
      registrations: registrations.save(),
    }),
    load(saved) {
      codes.load(saved);
      families.load(saved);
      clients.load(saved.clients);
      users.load(saved.users);
      upstreamTokens.load(saved.upstreamTokens);
      registrations.load(saved.registrations);
    },
  };
}

function memoryCodes(now: () => number) {
  const grants = new ExpiringMap<CodeGrant>(now);
  const used = new ExpiringMap<FamilyRef>(now);
  const codes: Codes = {
    async put(code, grant, ttlMs) {
      if (grants.has(code)) return false;
      grants.set(code, grant, ttlMs);
      return true;
    },
    async take(code, markerMs) {
      const grant = grants.take(code);
      if (grant) {
        used.set(code, { id: grant.familyId, tsid: grant.tsid }, markerMs);
        return { kind: 'taken', grant };
      }
      const family = used.get(code);
      return family ? { kind: 'used', family } : { kind: 'unknown' };
    },
  };
  return {
    codes,
    save: () => ({ codes: grants.entries(), usedCodes: used.entries() }),
    load(saved: SavedCodes) {
      grants.restore(saved.codes);
      used.restore(saved.usedCodes);
    },
  };
}

function memoryUsers() {
  const users = new Map<string, User>();
  const ids = new Map<string, string>();
  const pairOf = ({ provider, subject }: User): string => `${String(provider.length)}:${provider}:${subject}`;
  const add = (user: User): void => {
    ids.set(pairOf(user), user.id);
    users.set(user.id, user);
  };
  const resolving: Users = {
    async resolve(candidate) {
      const known = users.get(ids.get(pairOf(candidate)) ?? '');
      if (!known) add(candidate);
      return known ?? candidate;
    },
    get: async (id) => users.get(id),
  };
  return { users: resolving, save: () => [...users.values()], load: (saved: readonly User[]) => saved.forEach(add) };
}

function memoryRegistrations() {
  const known = new Map<string, string>();
  const registrations: Registrations = {
    get: async (key) => known.get(key),
    put: async (key, text) => void known.set(key, text),
    delete: async (key) => void known.delete(key),
  };
  return {
    registrations,
    save: () => [...known],
    load(saved: SavedRecords['registrations']) {
      for (const [key, text] of saved) known.set(key, text);
    },
  };
}

function memoryLocks(now: () => number): { locks: Locks; held: (name: string, fence: string) => boolean } {
  const fences = new ExpiringMap<string>(now);
  const held = (name: string, fence: string): boolean => fences.get(name) === fence;
  return {
    held,
    locks: {
      async acquire(name, ttlMs) {
        if (fences.has(name)) return undefined;
        const fence = randomUUID();
        fences.set(name, fence, ttlMs);
        return { name, fence };
      },
      async renew({ name, fence }, ttlMs) {
        if (!held(name, fence)) return false;
        fences.set(name, fence, ttlMs);
        return true;
      },
      release: async ({ name, fence }) => held(name, fence) && fences.delete(name),
    },
  };
}

/** Keeps one key per used bucket. Its remaining lifetime is the time until the bucket is full; each use adds to it. */
function memoryRates(now: () => number, max: number): Rates {
  const debts = new ExpiringMap<true>(now);
  return {
    async take(bucket, key, limit) {
      const name = `${bucket}:${key}`;
      const everyMs = msPerUse(limit);
      const debtMs = debts.remainingMs(name) + everyMs;
      const excessMs = debtMs - limit.capacity * everyMs;
      if (excessMs > 0) return { allowed: false, retryAfterSeconds: Math.ceil(excessMs / 1_000) };
      debts.delete(name);
      debts.dropOldest(max);
      debts.set(name, true, debtMs);
      return { allowed: true };
    },
  };
}
