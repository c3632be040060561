import type { BucketUse } from './buckets.ts';

/** A program that a key-value store runs atomically. */
export interface Script {
  readonly name: string;
  readonly lua: string;
}

/**
 * Takes up to ARGV[1] tokens of every bucket, the same number of each. KEYS: buckets; ARGV[2..]: size and period in µs of
 * each. A key holds `<tokens> <µs of the store's clock>` until its bucket is full; a missing key is a full bucket. The clock
 * of the store decides, so clocks of replicas do not matter. Returns the number of tokens taken of each bucket and, if it
 * is smaller than requested, the position of the first bucket that has no more and the µs until it has one.
 */
const TAKE: Script = {
  name: 'vmcpRateLimitTake',
  lua: `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local granted, empty, wait, levels = tonumber(ARGV[1]), 0, 0, {}
for i, key in ipairs(KEYS) do
  local max, period = tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1])
  local level, stored = max, redis.call('GET', key)
  if stored then
    local tokens, at = string.match(stored, '^(%S+) (%S+)$')
    level = math.min(max, tokens + math.max(0, now - at) * max / period)
  end
  levels[i] = level
  if level < granted then
    granted, empty = math.floor(level), i
    wait = math.ceil((granted + 1 - level) * period / max)
  end
end
if granted > 0 then
  for i, key in ipairs(KEYS) do
    local max, period, left = tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1]), levels[i] - granted
    local full = math.ceil((max - left) * period / max / 1000) + 1
    redis.call('SET', key, string.format('%.17g %.0f', left, now), 'PX', string.format('%.0f', full))
  end
end
return {granted, empty, wait}`,
};

/** The part of a key-value store that buckets need. */
export interface BucketStore {
  /** Returns the name with the prefix of this virtual server. */
  key(name: string): string;
  /** Rejects when the store does not answer in time. */
  run(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>;
}

/** Tokens that the store has given, and the bucket that had no more. */
export interface Grant {
  readonly granted: number;
  /** Set when fewer tokens were granted than requested. */
  readonly empty?: { readonly use: BucketUse; readonly waitMs: number };
}

/** Takes up to `count` tokens of every bucket in one step of the store. Rejects as the store does. */
export async function takeFrom(store: BucketStore, uses: readonly BucketUse[], count: number): Promise<Grant> {
  const keys = uses.map(({ key }) => store.key(key));
  const limits = uses.flatMap(({ limit: { maxTokens, periodMs } }) => [maxTokens, Math.round(periodMs * 1_000)]);
  const reply = await store.run(TAKE, keys, [count, ...limits]);
  const [granted, position, waitUs] = reply as [number, number, number];
  const use = uses[position - 1];
  return { granted, ...(use && { empty: { use, waitMs: waitUs / 1_000 } }) };
}
