import type { Script } from '../../../kvstore/key-value-store.ts';
import { sha256, textList, wholeMs, type SealedRecords } from './sealed-records.ts';
import type { CodeGrant, LoginAttempt } from '../records.ts';
import type { Codes, OwnLoginAttempt, TakenCode, LoginAttempts } from '../store.ts';

/** GETDEL, which servers older than 6.2 do not have. */
const TAKE: Script = {
  name: 'vmcpTake',
  lua: `
local value = redis.call('GET', KEYS[1])
if value then redis.call('DEL', KEYS[1]) end
return value`,
};

/** KEYS login attempt; ARGV hashes of cookies. The value is \`<cookie hash of the owner> <sealed login attempt>\`. */
const TAKE_OWN: Script = {
  name: 'vmcpTakeOwn',
  lua: `
local value = redis.call('GET', KEYS[1])
if not value then return {'unknown'} end
local owner = string.match(value, '^[^.%s]%S*')
for _, hash in ipairs(ARGV) do
  if hash == owner then
    redis.call('DEL', KEYS[1])
    return {'taken', value}
  end
end
return {'foreign', value}`,
};

/** Placeholder for the hash of the cookie while no leg is running. */
const NOBODY = '.';

/** KEYS code, marker; ARGV marker TTL. The value of a code is \`<family id> <tsid> <sealed grant>\`. */
const TAKE_CODE: Script = {
  name: 'vmcpTakeCode',
  lua: `
local value = redis.call('GET', KEYS[1])
if not value then
  local family = redis.call('GET', KEYS[2])
  if family then return {'used', family} end
  return {'unknown'}
end
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[2], string.match(value, '^%S+ %S+'), 'PX', ARGV[1])
return {'taken', value}`,
};

export function kvstoreLoginAttempts(records: SealedRecords): LoginAttempts {
  // the name stays: another one would end the logins that run during an upgrade
  const keyOf = (handle: string): string => records.key('txn', sha256(handle));
  const read = (key: string, text: unknown): LoginAttempt | undefined => {
    const [, sealed = ''] = typeof text === 'string' ? text.split(' ') : [];
    return records.unseal(key, sealed) as LoginAttempt | undefined;
  };
  return {
    put: (handle, attempt, ttlMs) => {
      const key = keyOf(handle);
      const owner = (attempt.leg && attempt.cookieHash) ?? NOBODY;
      return records.set(key, `${owner} ${records.seal(key, attempt)}`, ttlMs, 'NX');
    },
    async get(handle) {
      const key = keyOf(handle);
      return read(key, await records.command('GET', key));
    },
    async take(handle) {
      const key = keyOf(handle);
      return read(key, await records.run(TAKE, [key]));
    },
    async takeOwn(handle, cookieHashes): Promise<OwnLoginAttempt> {
      const key = keyOf(handle);
      const [kind, text] = textList(await records.run(TAKE_OWN, [key], ...cookieHashes));
      const attempt = read(key, text);
      return attempt && (kind === 'taken' || kind === 'foreign') ? { kind, attempt } : { kind: 'unknown' };
    },
  };
}

export function kvstoreCodes(records: SealedRecords): Codes {
  return {
    put(code, grant, ttlMs) {
      const key = records.key('code', sha256(code));
      return records.set(key, `${grant.familyId} ${grant.tsid} ${records.seal(key, grant)}`, ttlMs, 'NX');
    },
    async take(code, markerMs): Promise<TakenCode> {
      const key = records.key('code', sha256(code));
      const marker = records.key('usedcode', sha256(code));
      const [kind, text = ''] = textList(await records.run(TAKE_CODE, [key, marker], wholeMs(markerMs)));
      const [id = '', tsid = '', sealed = ''] = text.split(' ');
      if (kind === 'used') return { kind, family: { id, tsid } };
      const grant = kind === 'taken' ? (records.unseal(key, sealed) as CodeGrant | undefined) : undefined;
      return grant ? { kind: 'taken', grant } : { kind: 'unknown' };
    },
  };
}
