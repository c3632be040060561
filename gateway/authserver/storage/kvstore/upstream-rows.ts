import type { Script } from '../../../kvstore/key-value-store.ts';
import { KEEP_AT_LEAST, textList, wholeMs, type SealedRecords } from './sealed-records.ts';
import type { UpstreamRow } from '../records.ts';
import { upstreamLock, type UpstreamRows } from '../store.ts';

const DAY_MS = 86_400_000;
/** Time after a user's last login for which their logins are listed, and the most that are listed. */
const LOGINS_KEPT_MS = 30 * DAY_MS;
const LOGINS_KEPT = 256;

/** KEYS row, index of the login, logins of the user; ARGV sealed row, TTL, provider, login, time, TTL of logins, limit. */
const PUT: Script = {
  name: 'vmcpUpstreamPut',
  lua: `${KEEP_AT_LEAST}
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
redis.call('SADD', KEYS[2], ARGV[3])
keep_at_least(KEYS[2], tonumber(ARGV[2]))
redis.call('ZADD', KEYS[3], ARGV[5], ARGV[4])
redis.call('ZREMRANGEBYRANK', KEYS[3], 0, -1 - tonumber(ARGV[7]))
redis.call('PEXPIRE', KEYS[3], ARGV[6])
return 1`,
};

/** KEYS row, lock; ARGV sealed row, fence. */
const REPLACE: Script = {
  name: 'vmcpUpstreamReplace',
  lua: `
if redis.call('GET', KEYS[2]) ~= ARGV[2] or redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'KEEPTTL')
return 1`,
};

/** KEYS keys to extend; ARGV TTL. Creates nothing. */
const EXTEND: Script = {
  name: 'vmcpUpstreamExtend',
  lua: `${KEEP_AT_LEAST}
for _, key in ipairs(KEYS) do keep_at_least(key, tonumber(ARGV[1])) end
return 1`,
};

export function kvstoreUpstreamTokens(records: SealedRecords): UpstreamRows {
  const rows = new RowKeys(records);
  return {
    put: (row, ttlMs) => put(records, rows, row, ttlMs),
    async replace(row, lock) {
      const { tsid, provider } = row;
      if (lock.name !== upstreamLock(tsid, provider)) return false;
      const key = rows.row(tsid, provider);
      const keys = [key, records.key('lock', lock.name)];
      return (await records.run(REPLACE, keys, records.seal(key, row), lock.fence)) === 1;
    },
    get: (tsid, provider) => rows.read(tsid, provider),
    async all(tsid) {
      const found = await Promise.all((await rows.providers(tsid)).map((provider) => rows.read(tsid, provider)));
      return found.filter((row) => row !== undefined);
    },
    async extend(tsid, providers, ttlMs) {
      const keys = providers.map((provider) => rows.row(tsid, provider));
      await records.run(EXTEND, [rows.index(tsid), ...keys], wholeMs(ttlMs));
    },
    async delete(tsid, provider) {
      const providers = provider === undefined ? await rows.providers(tsid) : [provider];
      if (provider !== undefined) await records.command('SREM', rows.index(tsid), provider);
      const keys = providers.map((name) => rows.row(tsid, name));
      await records.command('DEL', ...(provider === undefined ? [rows.index(tsid), ...keys] : keys));
    },
    latestForUser: (userId, provider) => latest(records, rows, userId, provider),
  };
}

async function put(records: SealedRecords, rows: RowKeys, row: UpstreamRow, ttlMs: number): Promise<void> {
  const { tsid, provider, userId, storedAt } = row;
  const key = rows.row(tsid, provider);
  await records.run(
    PUT,
    [key, rows.index(tsid), rows.logins(userId)],
    ...[records.seal(key, row), wholeMs(ttlMs), provider],
    ...[`${provider} ${tsid}`, storedAt, LOGINS_KEPT_MS, LOGINS_KEPT],
  );
}

async function latest(records: SealedRecords, rows: RowKeys, userId: string, provider: string) {
  for (const login of textList(await records.command('ZREVRANGE', rows.logins(userId), 0, -1))) {
    const [name, tsid = ''] = login.split(' ');
    const row = name === provider ? await rows.read(tsid, provider) : undefined;
    if (row?.userId === userId && row.accessToken !== '') return row;
  }
  return undefined;
}

class RowKeys {
  readonly #records: SealedRecords;

  constructor(records: SealedRecords) {
    this.#records = records;
  }

  row = (tsid: string, provider: string): string => this.#records.key('up', tsid, provider);
  index = (tsid: string): string => this.#records.key('upidx', tsid);
  logins = (userId: string): string => this.#records.key('uup', userId);

  read(tsid: string, provider: string): Promise<UpstreamRow | undefined> {
    return this.#records.getSealed<UpstreamRow>(this.row(tsid, provider));
  }

  async providers(tsid: string): Promise<string[]> {
    return textList(await this.#records.command('SMEMBERS', this.index(tsid))).sort();
  }
}
