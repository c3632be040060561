import type { Logger } from '../../contract/logger.ts';
import {
  TAKEN,
  UNAVAILABLE,
  type BucketPlan,
  type Buckets,
  type BucketUse,
  type RateLimitObserver,
  type Taken,
} from './buckets.ts';

/** A program that a key-value store runs atomically. */
interface Script {
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
interface BucketStore {
  /** Returns the name with the prefix of this virtual server. */
  key(name: string): string;
  /** Rejects when the store does not answer in time. */
  run(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>;
}

/** Tokens of every bucket. */
interface TokenRequest {
  /** For calls that wait. */
  readonly calls: number;
  /** For calls of the next moment, if the buckets have plenty. */
  readonly lease: number;
  /** Unused tokens of an earlier lease. */
  readonly back: number;
}

/** Tokens that the store has given, and the bucket that had no more. */
interface Grant {
  readonly granted: number;
  readonly leased: number;
  /** Set when fewer tokens were granted than calls wait. */
  readonly empty?: { readonly use: BucketUse; readonly waitMs: number };
}

/** Takes tokens of every bucket in one step of the store. Rejects as the store does. */
async function takeFrom(
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

/** Pause after a failure of the store, in which no call asks it. */
const PAUSE_MS = 500;
/** Interval of the log line during an outage. */
const LOG_EVERY_MS = 30_000;
/** Most empty buckets that are remembered. */
const MAX_REMEMBERED = 10_000;
/** Most calls in one request to the store. */
const MAX_BATCH = 1_000;
/** Most tokens of one lease, and the time in which they are used or put back. */
const MAX_LEASE = 64;
const LEASE_MS = 20;
/** Time after a request within which the next one leases tokens: longer than a lease, so that one that ends is renewed. */
const BUSY_MS = 2 * LEASE_MS;

export interface StoreBucketsDeps {
  readonly store: BucketStore;
  /** ms since any start, by a clock that never goes back. */
  readonly clock: () => number;
  readonly observer: RateLimitObserver;
  readonly log: Pick<Logger, 'warn' | 'info'>;
}

type Settle = (taken: Taken) => void;

/** Calls that need the same buckets. */
interface Line {
  readonly uses: readonly BucketUse[];
  /** Calls for the next request. */
  waiting: Settle[];
  isAsking: boolean;
  askedAt: number;
  /** Tokens of each bucket that calls may use until `leasedUntil`. */
  leased: number;
  leasedUntil: number;
  /** Size of the last lease. */
  lease: number;
}

/**
 * Token buckets in a key-value store, which replicas share. Calls that need the same buckets share a request: while one
 * runs, the next ones gather. Where calls follow each other closely and the buckets have plenty, a request also leases tokens
 * for the next calls. A bucket that is empty is not asked for again until it has a token.
 */
export class StoreBuckets implements Buckets {
  readonly #deps: StoreBucketsDeps;
  readonly #lines = new Map<string, Line>();
  /** Time at which each empty bucket gets a token. */
  readonly #emptyUntil = new Map<string, number>();
  #sweeper: NodeJS.Timeout | undefined;
  #askAgainAt = -Infinity;
  #loggedAt = -Infinity;
  #isDown = false;

  constructor(deps: StoreBucketsDeps) {
    this.#deps = deps;
  }

  take(plan: BucketPlan, principal: string): Taken | Promise<Taken> {
    const now = this.#deps.clock();
    const id = plan.idOf(principal);
    const line = this.#lines.get(id);
    if (line !== undefined && line.leased > 0 && now < line.leasedUntil) {
      line.leased -= 1;
      return TAKEN;
    }
    const known = this.#known(() => line?.uses ?? plan.usesOf(principal), now);
    if (known) return known;
    return new Promise((resolve) => {
      const asking = line ?? this.#newLine(id, plan.usesOf(principal));
      asking.waiting.push(resolve);
      if (!asking.isAsking) void this.#askFor(asking);
    });
  }

  /** Forgets which buckets are empty: their limits have changed. */
  reset(): void {
    this.#emptyUntil.clear();
  }

  /** Stops to put leases back. */
  close(): void {
    clearInterval(this.#sweeper);
    this.#lines.clear();
  }

  #newLine(id: string, uses: readonly BucketUse[]): Line {
    const line = { uses, waiting: [], isAsking: false, askedAt: -Infinity, leased: 0, leasedUntil: 0, lease: 0 };
    this.#lines.set(id, line);
    this.#sweeper ??= setInterval(() => {
      this.#sweep();
    }, LEASE_MS).unref();
    return line;
  }

  /** Asks the store until no call of the line waits. */
  async #askFor(line: Line): Promise<void> {
    line.isAsking = true;
    while (line.waiting.length > 0) {
      const asking = line.waiting.slice(0, MAX_BATCH);
      line.waiting = line.waiting.slice(MAX_BATCH);
      await this.#ask(line, asking);
      this.#settleWaiting(line);
    }
    line.isAsking = false;
  }

  async #ask(line: Line, asking: readonly Settle[]): Promise<void> {
    const { store, clock, observer } = this.#deps;
    const startedAt = clock();
    const isBusy = startedAt - line.askedAt < BUSY_MS;
    const lease = isBusy ? Math.min(2 * line.lease + 1, MAX_LEASE) : 0;
    const request = { calls: asking.length, lease, back: line.leased };
    line.askedAt = startedAt;
    line.leased = 0;
    try {
      const grant = await takeFrom(store, line.uses, request);
      const now = clock();
      observer.storeAnswered(now - startedAt);
      this.#succeeded();
      line.lease = grant.leased;
      line.leased = grant.leased;
      line.leasedUntil = now + LEASE_MS;
      this.#grant(grant, asking, now);
    } catch (error) {
      this.#failed(error);
      for (const settle of asking) settle(UNAVAILABLE);
    }
  }

  #grant({ granted, empty }: Grant, asking: readonly Settle[], now: number): void {
    if (empty) this.#remember(empty.use.key, now + empty.waitMs, now);
    const refused: Taken = empty ? { kind: 'empty', scope: empty.use.scope, waitMs: empty.waitMs } : UNAVAILABLE;
    asking.forEach((settle, index) => {
      settle(index < granted ? TAKEN : refused);
    });
  }

  /** Answers the calls that gathered during a request, as far as its result answers them. */
  #settleWaiting(line: Line): void {
    if (line.waiting.length === 0) return;
    const served = Math.min(line.leased, line.waiting.length);
    line.leased -= served;
    for (const settle of line.waiting.splice(0, served)) settle(TAKEN);
    const known = this.#known(() => line.uses, this.#deps.clock());
    if (known) for (const settle of line.waiting.splice(0)) settle(known);
  }

  /** Returns the outcome of a call that does not need to ask the store. */
  #known(usesOf: () => readonly BucketUse[], now: number): Taken | undefined {
    if (now < this.#askAgainAt) return UNAVAILABLE;
    if (this.#emptyUntil.size === 0) return undefined;
    for (const { key, scope } of usesOf()) {
      const until = this.#emptyUntil.get(key);
      if (until === undefined) continue;
      if (until > now) return { kind: 'empty', scope, waitMs: until - now };
      this.#emptyUntil.delete(key);
    }
    return undefined;
  }

  #remember(key: string, until: number, now: number): void {
    if (this.#emptyUntil.size >= MAX_REMEMBERED)
      for (const [other, end] of this.#emptyUntil) if (end <= now) this.#emptyUntil.delete(other);
    if (this.#emptyUntil.size < MAX_REMEMBERED) this.#emptyUntil.set(key, until);
  }

  /** Puts back the tokens of leases that have ended, and forgets lines without calls. */
  #sweep(): void {
    const now = this.#deps.clock();
    for (const [id, line] of this.#lines) {
      if (line.isAsking || now - line.askedAt < BUSY_MS) continue;
      this.#lines.delete(id);
      if (line.leased === 0) continue;
      const putBack = { calls: 0, lease: 0, back: line.leased };
      takeFrom(this.#deps.store, line.uses, putBack).catch((error: unknown) => {
        this.#failed(error);
      });
    }
    if (this.#lines.size > 0) return;
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
  }

  #succeeded(): void {
    if (!this.#isDown) return;
    this.#isDown = false;
    this.#loggedAt = -Infinity;
    this.#deps.log.info('the store of rate limits answers again');
  }

  #failed(error: unknown): void {
    const { clock, observer, log } = this.#deps;
    const now = clock();
    this.#isDown = true;
    this.#askAgainAt = now + PAUSE_MS;
    observer.storeFailed();
    if (now - this.#loggedAt < LOG_EVERY_MS) return;
    this.#loggedAt = now;
    const fault = error instanceof Error ? error.message : String(error);
    log.warn('the store of rate limits is unavailable: calls are refused or pass as the limits say', { fault });
  }
}
