import type { Script } from '../../../kvstore/key-value-store.ts';
import type { Client, User } from '../records.ts';
import { KEEP_AT_LEAST, textList, wholeMs, type SealedRecords } from './sealed-records.ts';
import type { ClientStore, Registration, Users } from '../store.ts';

/**
 * KEYS client, index by expiry, index of unused clients by registration; ARGV id, record, TTL, limit (0: none), now,
 * time for which an unused client is kept, key prefix of clients. A client whose expiry has moved was used: an older
 * release renews a client without removing it from the second index.
 */
const REGISTER: Script = {
  name: 'vmcpClientRegister',
  lua: `${KEEP_AT_LEAST}
if redis.call('EXISTS', KEYS[1]) == 1 then return {'exists'} end
local ttl, max, now, keep = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
local function oldest_unused()
  while true do
    local found = redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES')
    if #found == 0 then return nil end
    local ends = redis.call('ZSCORE', KEYS[2], found[1])
    if ends and tonumber(ends) <= tonumber(found[2]) + ttl then return found[1], tonumber(found[2]) end
    redis.call('ZREM', KEYS[3], found[1])
  end
end
if max > 0 and redis.call('ZCARD', KEYS[2]) >= max then
  local oldest, at = oldest_unused()
  if not oldest or at + keep > now then
    local wait = tonumber(redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')[2]) - now
    if oldest then wait = math.min(wait, at + keep - now) end
    return {'full', tostring(math.ceil(wait))}
  end
  redis.call('ZREM', KEYS[2], oldest)
  redis.call('ZREM', KEYS[3], oldest)
  redis.call('DEL', ARGV[7] .. oldest)
end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ttl)
redis.call('ZADD', KEYS[2], now + ttl, ARGV[1])
redis.call('ZADD', KEYS[3], now, ARGV[1])
keep_at_least(KEYS[2], ttl)
keep_at_least(KEYS[3], ttl)
return {'registered'}`,
};

/** KEYS client; ARGV record, TTL. A longer remaining TTL is kept. */
const PUT: Script = {
  name: 'vmcpClientPut',
  lua: `
local left = redis.call('PTTL', KEYS[1])
redis.call('SET', KEYS[1], ARGV[1], 'PX', math.max(left, tonumber(ARGV[2])))`,
};

/** KEYS client, index, unused; ARGV id, TTL, now. */
const RENEW: Script = {
  name: 'vmcpClientRenew',
  lua: `${KEEP_AT_LEAST}
redis.call('ZREM', KEYS[3], ARGV[1])
if redis.call('PEXPIRE', KEYS[1], ARGV[2]) == 0 then return 0 end
if redis.call('ZSCORE', KEYS[2], ARGV[1]) then
  redis.call('ZADD', KEYS[2], tonumber(ARGV[3]) + tonumber(ARGV[2]), ARGV[1])
  keep_at_least(KEYS[2], tonumber(ARGV[2]))
end
return 1`,
};

/** KEYS client, index, unused; ARGV id. */
const DELETE: Script = {
  name: 'vmcpClientDelete',
  lua: `
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[3], ARGV[1])
return redis.call('DEL', KEYS[1])`,
};

/** KEYS index; ARGV now. */
const COUNT: Script = {
  name: 'vmcpClientCount',
  lua: `
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])
return redis.call('ZCARD', KEYS[1])`,
};

export function kvstoreClients(records: SealedRecords): ClientStore {
  const keyOf = (clientId: string): string => records.key('client', clientId);
  const indexes = [records.key('clients'), records.key('clients-unused')];
  const [index = ''] = indexes;
  return {
    async register(client, ttlMs, max, keepMs = ttlMs): Promise<Registration> {
      const { client_id: clientId } = client;
      const args = [clientId, JSON.stringify(client), wholeMs(ttlMs), max, records.now(), wholeMs(keepMs), keyOf('')];
      const [kind, ms] = textList(await records.run(REGISTER, [keyOf(clientId), ...indexes], ...args));
      if (kind === 'full') return { kind, retryAfterMs: Math.max(1, Number(ms)) };
      return { kind: kind === 'registered' ? 'registered' : 'exists' };
    },
    async put(client, ttlMs) {
      await records.run(PUT, [keyOf(client.client_id)], JSON.stringify(client), wholeMs(ttlMs));
    },
    get: (clientId) => records.get<Client>(keyOf(clientId)),
    renew: async (clientId, ttlMs) =>
      (await records.run(RENEW, [keyOf(clientId), ...indexes], clientId, wholeMs(ttlMs), records.now())) === 1,
    delete: async (clientId) => (await records.run(DELETE, [keyOf(clientId), ...indexes], clientId)) === 1,
    count: async () => Number(await records.run(COUNT, [index], records.now())),
  };
}

/** KEYS pair, user; ARGV id, record. Returns the id of the user with this pair. */
const RESOLVE: Script = {
  name: 'vmcpUserResolve',
  lua: `
local id = redis.call('GET', KEYS[1])
if id then return id end
redis.call('SET', KEYS[1], ARGV[1])
redis.call('SET', KEYS[2], ARGV[2])
return ARGV[1]`,
};

/** Users never expire: their id is the \`sub\` of tokens and the owner of sessions. */
export function kvstoreUsers(records: SealedRecords): Users {
  const keyOf = (id: string): string => records.key('usr', id);
  return {
    async resolve(candidate) {
      const { provider, subject } = candidate;
      // The length makes the key of each pair unique.
      const pair = records.key('idp', String(provider.length), provider, subject);
      const answer = await records.run(RESOLVE, [pair, keyOf(candidate.id)], candidate.id, JSON.stringify(candidate));
      const id = String(answer);
      return id === candidate.id ? candidate : ((await records.get<User>(keyOf(id))) ?? { ...candidate, id });
    },
    get: (id) => records.get<User>(keyOf(id)),
  };
}
