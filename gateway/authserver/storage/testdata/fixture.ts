import type { Store } from '../store.ts';

/** A store that nothing was written to. */
export interface Fixture {
  readonly store: Store;
  /** Of the store, ms since the epoch. */
  readonly now: () => number;
  /** Lets this time pass for the store. */
  elapse(ms: number): Promise<void>;
}

/** A time to live that ends within a test, and the wait for its end. */
export const SHORT_MS = 500;
export const PAST_SHORT_MS = 600;
