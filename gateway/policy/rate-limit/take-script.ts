import type { BucketUse } from './buckets.ts';

/** A program that a key-value store runs atomically. */
export interface Script {
  readonly name: string;
  readonly lua: string;
}

/**
 * Tokens that a bucket must have left for each token that is leased: a lease is at most 1 in 10,000 of them, so tokens that
 * several replicas hold in advance stay below 1 in 1,000.
 */
const TOKENS_PER_LEASED = 10_000;

/**
 * Puts back, then takes tokens of every bucket, the same number of each. KEYS: buckets. ARGV: tokens for calls, tokens to
 * lease, tokens to put back, then size and period in µs of each bucket. A key holds `<tokens> <µs of the store's clock>`
 * until its bucket is full; a missing key is a full bucket. The clock of the store decides, so those of replicas do not
 * matter. Returns the number of tokens for calls; if it is smaller than requested, the position of the first bucket that has
 * no more and the µs until it has one; and the number of leased tokens.
 */
const TAKE: Script = {
  name: 'vmcpRateLimitTake',
  lua: `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local granted, lease, back = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local empty, wait, levels = 0, 0, {}
for i, key in ipairs(KEYS) do
  local max, period = tonumber(ARGV[2 * i + 2]), tonumber(ARGV[2 * i + 3])
  local level, stored = max, redis.call('GET', key)
  if stored then
    local tokens, at = string.match(stored, '^(%S+) (%S+)$')
    level = math.min(max, tokens + back + math.max(0, now - at) * max / period)
  end
  levels[i] = level
  if level < granted then
    granted, empty, lease = math.floor(level), i, 0
    wait = math.ceil((granted + 1 - level) * period / max)
  end
end
for _, level in ipairs(levels) do
  lease = math.max(0, math.min(lease, math.floor((level - granted) / ${String(TOKENS_PER_LEASED)})))
end
if granted + lease + back > 0 then
  for i, key in ipairs(KEYS) do
    local max, period = tonumber(ARGV[2 * i + 2]), tonumber(ARGV[2 * i + 3])
    local left = levels[i] - granted - lease
    local full = math.ceil((max - left) * period / max / 1000) + 1
    redis.call('SET', key, string.format('%.17g %.0f', left, now), 'PX', string.format('%.0f', full))
  end
end
return {granted, empty, wait, lease}`,
};

/** The part of a key-value store that buckets need. */
export interface BucketStore {
  /** Returns the name with the prefix of this virtual server. */
  key(name: string): string;
  /** Rejects when the store does not answer in time. */
  run(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>;
}

/** Tokens of every bucket. */
export interface TokenRequest {
  /** For calls that wait. */
  readonly calls: number;
  /** For calls of the next moment, if the buckets have plenty. */
  readonly lease: number;
  /** Unused tokens of an earlier lease. */
  readonly back: number;
}

/** Tokens that the store has given, and the bucket that had no more. */
export interface Grant {
  readonly granted: number;
  readonly leased: number;
  /** Set when fewer tokens were granted than calls wait. */
  readonly empty?: { readonly use: BucketUse; readonly waitMs: number };
}

/** Takes tokens of every bucket in one step of the store. Rejects as the store does. */
export async function takeFrom(
  store: BucketStore,
  uses: readonly BucketUse[],
  { calls, lease, back }: TokenRequest,
): Promise<Grant> {
  const keys = uses.map(({ key }) => store.key(key));
  const limits = uses.flatMap(({ limit: { maxTokens, periodMs } }) => [maxTokens, Math.round(periodMs * 1_000)]);
  const reply = await store.run(TAKE, keys, [calls, lease, back, ...limits]);
  const [granted, position, waitUs, leased] = reply as [number, number, number, number];
  const use = uses[position - 1];
  return { granted, leased, ...(use && { empty: { use, waitMs: waitUs / 1_000 } }) };
}
