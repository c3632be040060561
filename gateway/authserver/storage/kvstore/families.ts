import type { Script } from '../../../kvstore/key-value-store.ts';
import { KEEP_AT_LEAST, sha256, textList, wholeMs, type SealedRecords } from './sealed-records.ts';
import type { Family, FamilyRef, LivenessRecord } from '../records.ts';
import type { Families, FamilySpans, LivenessReader, Rotation, RotationRequest } from '../store.ts';

/**
 * KEYS family, liveness, families of the user, families of the client, token (may be absent);
 * ARGV data, hash of the token, TTL, liveness TTL, liveness, member of the indexes, expiry of the family, now.
 */
const CREATE: Script = {
  name: 'vmcpFamilyCreate',
  lua: `${KEEP_AT_LEAST}
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('HSET', KEYS[1], 'data', ARGV[1], 'current', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('SET', KEYS[2], ARGV[5], 'PX', ARGV[4])
for i = 3, 4 do
  redis.call('ZREMRANGEBYSCORE', KEYS[i], '-inf', ARGV[8])
  redis.call('ZADD', KEYS[i], ARGV[7], ARGV[6])
  keep_at_least(KEYS[i], tonumber(ARGV[7]) - tonumber(ARGV[8]))
end
if KEYS[5] then redis.call('SET', KEYS[5], string.match(ARGV[6], '^%S+'), 'PX', ARGV[3]) end
return 1`,
};

/** Part of \`rotate\` and \`revoke\`: replaces the family by a mark that rejects it, and deletes its other keys. */
const REVOKE_FAMILY = `
local function revoke(family, live, window, ttl)
  redis.call('DEL', family, live, window)
  redis.call('HSET', family, 'revoked', '1')
  redis.call('PEXPIRE', family, ttl)
end
`;

/**
 * KEYS family, liveness, window, token, successor;
 * ARGV id, hash of the token, hash of the successor, sealed successor, grace, TTL, liveness TTL, liveness.
 */
const ROTATE: Script = {
  name: 'vmcpFamilyRotate',
  lua: `${REVOKE_FAMILY}
local state = redis.call('HMGET', KEYS[1], 'data', 'current', 'previous')
if not state[1] or redis.call('GET', KEYS[4]) ~= ARGV[1] then return {'unknown'} end
if state[2] == ARGV[2] then
  redis.call('HSET', KEYS[1], 'current', ARGV[3], 'previous', ARGV[2])
  redis.call('PEXPIRE', KEYS[1], ARGV[6])
  redis.call('PEXPIRE', KEYS[4], ARGV[6])
  redis.call('SET', KEYS[5], ARGV[1], 'PX', ARGV[6])
  redis.call('SET', KEYS[2], ARGV[8], 'PX', ARGV[7])
  if tonumber(ARGV[5]) > 0 then redis.call('SET', KEYS[3], ARGV[4], 'PX', ARGV[5]) else redis.call('DEL', KEYS[3]) end
  return {'rotated'}
end
local successor = state[3] == ARGV[2] and redis.call('GET', KEYS[3])
if successor then return {'replayed', successor} end
revoke(KEYS[1], KEYS[2], KEYS[3], ARGV[7])
return {'reused'}`,
};

/** KEYS family, liveness, window; ARGV TTL of the mark. */
const REVOKE: Script = {
  name: 'vmcpFamilyRevoke',
  lua: `${REVOKE_FAMILY}
revoke(KEYS[1], KEYS[2], KEYS[3], ARGV[1])
return 1`,
};

const refOf = (member: string): FamilyRef => {
  const [id = '', tsid = ''] = member.split(' ');
  return { id, tsid };
};

export function kvstoreFamilies(records: SealedRecords): { families: Families; live: LivenessReader } {
  const parts = new FamilyKeys(records);

  const listed = async (index: string): Promise<FamilyRef[]> => {
    const refs = textList(await records.command('ZRANGEBYSCORE', index, records.now(), '+inf')).map(refOf);
    const families = await Promise.all(refs.map(({ id }) => parts.read(id)));
    return refs.filter((_, index) => families[index] !== undefined);
  };

  return {
    families: {
      create: (family, token, spans) => create(records, parts, { family, token, ...spans }),
      async find(token) {
        const id = await records.command('GET', parts.token(token));
        if (typeof id !== 'string') return undefined;
        const key = parts.family(id);
        const [data = '', current] = textList(await records.command('HMGET', key, 'data', 'current'));
        const family = records.unseal(key, data) as Family | undefined;
        return family && { family, current: current === sha256(token) };
      },
      rotate: (request) => rotate(records, parts, request),
      get: (id) => parts.read(id),
      ofUser: (userId) => listed(parts.ofUser(userId)),
      ofClient: (clientId) => listed(parts.ofClient(clientId)),
      async revoke(ref, keepMs) {
        await records.run(REVOKE, parts.keys(ref), wholeMs(keepMs));
      },
    },
    live: { get: (tsid) => records.get<LivenessRecord>(records.key('live', tsid)) },
  };
}

interface NewFamily extends FamilySpans {
  readonly family: Family;
  readonly token: string | undefined;
}

async function create(
  records: SealedRecords,
  parts: FamilyKeys,
  { family, token, ...spans }: NewFamily,
): Promise<boolean> {
  const [familyKey, liveKey] = parts.keys(family);
  const indexes = [parts.ofUser(family.login.userId), parts.ofClient(family.clientId)];
  const tokenKeys = token === undefined ? [] : [parts.token(token)];
  const created = await records.run(
    CREATE,
    [familyKey, liveKey, ...indexes, ...tokenKeys],
    ...[records.seal(familyKey, family), token === undefined ? '' : sha256(token)],
    ...[wholeMs(parts.ttlMs(family, spans)), wholeMs(spans.liveMs), parts.liveness(family)],
    ...[`${family.id} ${family.tsid}`, Math.ceil(family.expiresAt), records.now()],
  );
  return created === 1;
}

/** Reads the family for its expiry, which is sealed in it, and then lets the script decide. */
async function rotate(records: SealedRecords, parts: FamilyKeys, request: RotationRequest): Promise<Rotation> {
  const { family: ref, token, successor, graceMs, liveMs } = request;
  const family = await parts.read(ref.id);
  const ttlMs = family ? parts.ttlMs(family, request) : 0;
  if (!family || ttlMs <= 0) return { kind: 'unknown' };
  const [familyKey, liveKey, windowKey] = parts.keys(family);
  const [kind, sealed = ''] = textList(
    await records.run(
      ROTATE,
      [familyKey, liveKey, windowKey, parts.token(token), parts.token(successor)],
      ...[family.id, sha256(token), sha256(successor), records.seal(windowKey, successor)],
      ...[Math.max(0, Math.ceil(graceMs)), wholeMs(ttlMs), wholeMs(liveMs), parts.liveness(family)],
    ),
  );
  if (kind === 'rotated' || kind === 'reused') return { kind, family };
  const before = kind === 'replayed' ? (records.unseal(windowKey, sealed) as string | undefined) : undefined;
  return before === undefined ? { kind: 'unknown' } : { kind: 'replayed', family, successor: before };
}

class FamilyKeys {
  readonly #records: SealedRecords;

  constructor(records: SealedRecords) {
    this.#records = records;
  }

  family = (id: string): string => this.#records.key('fam', id);
  token = (token: string): string => this.#records.key('rt', sha256(token));
  ofUser = (userId: string): string => this.#records.key('famuser', userId);
  ofClient = (clientId: string): string => this.#records.key('famclient', clientId);

  /** Returns the keys of family, liveness and window. */
  keys({ id, tsid }: FamilyRef): [string, string, string] {
    return [this.family(id), this.#records.key('live', tsid), this.#records.key('famwindow', id)];
  }

  ttlMs({ expiresAt }: Family, { idleMs }: FamilySpans): number {
    return Math.min(idleMs, expiresAt - this.#records.now());
  }

  liveness(family: Family): string {
    const liveness: LivenessRecord = { familyId: family.id, userId: family.login.userId, clientId: family.clientId };
    return JSON.stringify(liveness);
  }

  /** Returns undefined when the family is missing, revoked or sealed by a removed secret. */
  async read(id: string): Promise<Family | undefined> {
    const key = this.family(id);
    const data = await this.#records.command('HGET', key, 'data');
    return typeof data === 'string' ? (this.#records.unseal(key, data) as Family | undefined) : undefined;
  }
}
