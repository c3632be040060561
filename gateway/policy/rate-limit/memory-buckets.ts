import {
  msUntilToken,
  tokensAt,
  type BucketLimit,
  TAKEN,
  type BucketPlan,
  type Buckets,
  type Taken,
} from './buckets.ts';

interface Entry {
  tokens: number;
  at: number;
  limit: BucketLimit;
}

/** Most buckets, at about 200 bytes each. */
const MAX_BUCKETS = 100_000;
const FIRST_SWEEP = 1_000;
/** Share of the buckets that stays when the limit is reached and none is full. */
const KEPT_SHARE = 0.9;

/** Token buckets in the memory of this process. A full bucket needs no memory. */
export class MemoryBuckets implements Buckets {
  readonly #entries = new Map<string, Entry>();
  readonly #clock: () => number;
  readonly #maxBuckets: number;
  #sweepAt = FIRST_SWEEP;

  /** @param clock ms since any start, by a clock that never goes back. */
  constructor(clock: () => number, maxBuckets = MAX_BUCKETS) {
    this.#clock = clock;
    this.#maxBuckets = maxBuckets;
  }

  get size(): number {
    return this.#entries.size;
  }

  take(plan: BucketPlan, principal: string): Taken {
    const now = this.#clock();
    const uses = plan.usesOf(principal);
    for (const { key, limit, scope } of uses) {
      const entry = this.#entries.get(key);
      if (entry === undefined) continue;
      const tokens = tokensAt(entry, limit, now);
      if (tokens < 1) return { kind: 'empty', scope, waitMs: msUntilToken(tokens, limit) };
    }
    for (const { key, limit } of uses) this.#spend(key, limit, now);
    return TAKEN;
  }

  #spend(key: string, limit: BucketLimit, now: number): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) {
      this.#makeRoom(now);
      this.#entries.set(key, { tokens: limit.maxTokens - 1, at: now, limit });
      return;
    }
    entry.tokens = tokensAt(entry, limit, now) - 1;
    entry.at = now;
    entry.limit = limit;
  }

  /**
   * Drops the full buckets now and then, and at the limit the oldest ones. Only a client with that many identities gains
   * by it, and each new identity has a full bucket anyway.
   */
  #makeRoom(now: number): void {
    if (this.#entries.size < this.#sweepAt) return;
    for (const [key, entry] of this.#entries)
      if (tokensAt(entry, entry.limit, now) >= entry.limit.maxTokens) this.#entries.delete(key);
    if (this.#entries.size >= this.#maxBuckets) {
      const kept = this.#maxBuckets * KEPT_SHARE;
      for (const key of this.#entries.keys()) {
        if (this.#entries.size <= kept) break;
        this.#entries.delete(key);
      }
    }
    this.#sweepAt = Math.min(this.#maxBuckets, Math.max(FIRST_SWEEP, this.#entries.size * 2));
  }
}
