import { ExpiringMap } from '../../kit/cache.ts';
import type { UpstreamRow } from './records.ts';
import type { SavedRecords } from './records-file.ts';
import { upstreamLock, type UpstreamRows } from './store.ts';

/** Logins remembered per user. */
const LOGINS_KEPT = 256;

/** Latest logins of each user. Their number is limited, so that frequent logins do not fill the memory. */
class LoginsOfUsers {
  readonly #users: ExpiringMap<Set<string>>;

  constructor(now: () => number) {
    this.#users = new ExpiringMap(now);
  }

  add(userId: string, tsid: string, ttlMs: number): void {
    const tsids = this.#users.get(userId) ?? new Set();
    tsids.delete(tsid);
    tsids.add(tsid);
    const [oldest = tsid] = tsids;
    if (tsids.size > LOGINS_KEPT) tsids.delete(oldest);
    this.#users.set(userId, tsids, Math.max(ttlMs, this.#users.remainingMs(userId)));
  }

  of(userId: string): Iterable<string> {
    return this.#users.get(userId) ?? [];
  }
}

/** Keeps upstream tokens in memory. `held` returns true for a lock that is still held. */
export function memoryUpstreamRows(now: () => number, held: (name: string, fence: string) => boolean) {
  const logins = new ExpiringMap<ExpiringMap<UpstreamRow>>(now);
  const users = new LoginsOfUsers(now);
  const rowsOf = (tsid: string): readonly UpstreamRow[] => [...(logins.get(tsid)?.values() ?? [])];
  const write = (row: UpstreamRow, ttlMs: number): void => {
    const login = logins.get(row.tsid) ?? new ExpiringMap<UpstreamRow>(now);
    login.set(row.provider, row, ttlMs);
    logins.set(row.tsid, login, Math.max(ttlMs, logins.remainingMs(row.tsid)));
    users.add(row.userId, row.tsid, ttlMs);
  };
  const rows: UpstreamRows = {
    put: async (row, ttlMs) => write(row, ttlMs),
    async replace(row, lock) {
      const isHeld = lock.name === upstreamLock(row.tsid, row.provider) && held(lock.name, lock.fence);
      const ttlMs = logins.get(row.tsid)?.remainingMs(row.provider) ?? 0;
      if (!isHeld || ttlMs === 0) return false;
      write(row, ttlMs);
      return true;
    },
    get: async (tsid, provider) => logins.get(tsid)?.get(provider),
    all: async (tsid) => [...rowsOf(tsid)],
    async extend(tsid, providers, ttlMs) {
      const login = logins.get(tsid);
      for (const row of rowsOf(tsid))
        if (providers.includes(row.provider)) write(row, Math.max(ttlMs, login?.remainingMs(row.provider) ?? 0));
    },
    async delete(tsid, provider) {
      if (provider === undefined) logins.delete(tsid);
      else logins.get(tsid)?.delete(provider);
    },
    async latestForUser(userId, provider) {
      let latest: UpstreamRow | undefined;
      for (const tsid of users.of(userId)) {
        const row = logins.get(tsid)?.get(provider);
        if (row?.userId === userId && row.accessToken !== '' && row.storedAt >= (latest?.storedAt ?? 0)) latest = row;
      }
      return latest;
    },
  };
  return {
    rows,
    save: () => logins.entries().flatMap(([, login]) => login.entries().map(([, row, until]) => [row, until] as const)),
    load(saved: SavedRecords['upstreamTokens']) {
      for (const [row, until] of saved) if (until > now()) write(row, until - now());
    },
  };
}
