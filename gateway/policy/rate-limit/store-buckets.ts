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
import { takeFrom, type BucketStore, type Grant } from './take-script.ts';

/** Pause after a failure of the store, in which no call asks it. */
const PAUSE_MS = 500;
/** Interval of the log line during an outage. */
const LOG_EVERY_MS = 30_000;
/** Most empty buckets that are remembered. */
const MAX_REMEMBERED = 10_000;
/** Most calls in one request to the store. */
const MAX_BATCH = 1_000;

export interface StoreBucketsDeps {
  readonly store: BucketStore;
  /** ms since any start, by a clock that never goes back. */
  readonly clock: () => number;
  readonly observer: RateLimitObserver;
  readonly log: Pick<Logger, 'warn' | 'info'>;
}

/** Calls that need the same buckets and wait for the store. */
interface Batch {
  readonly uses: readonly BucketUse[];
  waiting: ((taken: Taken) => void)[];
}

/**
 * Token buckets in a key-value store, which replicas share exactly. Calls that need the same buckets share a request: while
 * one runs, the next ones gather. A bucket that is empty is not asked for again until it has a token.
 */
export class StoreBuckets implements Buckets {
  readonly #deps: StoreBucketsDeps;
  readonly #batches = new Map<string, Batch>();
  /** Time at which each empty bucket gets a token. */
  readonly #emptyUntil = new Map<string, number>();
  #askAgainAt = -Infinity;
  #loggedAt = -Infinity;
  #isDown = false;

  constructor(deps: StoreBucketsDeps) {
    this.#deps = deps;
  }

  take(plan: BucketPlan, principal: string): Taken | Promise<Taken> {
    const now = this.#deps.clock();
    if (now < this.#askAgainAt) return UNAVAILABLE;
    if (this.#emptyUntil.size > 0) {
      const empty = this.#remembered(plan.usesOf(principal), now);
      if (empty) return empty;
    }
    const id = plan.idOf(principal);
    return new Promise((resolve) => {
      const gathering = this.#batches.get(id);
      if (gathering) {
        gathering.waiting.push(resolve);
        return;
      }
      const batch = { uses: plan.usesOf(principal), waiting: [resolve] };
      this.#batches.set(id, batch);
      void this.#askFor(id, batch);
    });
  }

  /** Forgets which buckets are empty: their limits have changed. */
  reset(): void {
    this.#emptyUntil.clear();
  }

  /** Asks the store for a batch until none of its calls wait. */
  async #askFor(id: string, batch: Batch): Promise<void> {
    while (batch.waiting.length > 0) {
      const asking = batch.waiting.slice(0, MAX_BATCH);
      batch.waiting = batch.waiting.slice(MAX_BATCH);
      await this.#ask(batch.uses, asking);
      if (batch.waiting.length > 0) this.#settleKnown(batch);
    }
    this.#batches.delete(id);
  }

  async #ask(uses: readonly BucketUse[], asking: readonly ((taken: Taken) => void)[]): Promise<void> {
    const { store, clock, observer } = this.#deps;
    const startedAt = clock();
    try {
      const grant = await takeFrom(store, uses, asking.length);
      const now = clock();
      observer.storeAnswered(now - startedAt);
      this.#succeeded();
      this.#grant(grant, asking, now);
    } catch (error) {
      this.#failed(error);
      for (const settle of asking) settle(UNAVAILABLE);
    }
  }

  #grant({ granted, empty }: Grant, asking: readonly ((taken: Taken) => void)[], now: number): void {
    if (empty) this.#remember(empty.use.key, now + empty.waitMs, now);
    const refused: Taken = empty ? { kind: 'empty', scope: empty.use.scope, waitMs: empty.waitMs } : UNAVAILABLE;
    asking.forEach((settle, index) => {
      settle(index < granted ? TAKEN : refused);
    });
  }

  /** Answers the calls that gathered during a request which has shown that there is nothing to ask for. */
  #settleKnown(batch: Batch): void {
    const now = this.#deps.clock();
    const known = now < this.#askAgainAt ? UNAVAILABLE : this.#remembered(batch.uses, now);
    if (!known) return;
    const { waiting } = batch;
    batch.waiting = [];
    for (const settle of waiting) settle(known);
  }

  #remembered(uses: readonly BucketUse[], now: number): Taken | undefined {
    for (const { key, scope } of uses) {
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
