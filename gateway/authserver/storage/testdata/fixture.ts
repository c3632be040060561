import type { Store } from '../store.ts';

/** Empty store for a test. */
export interface Fixture {
  readonly store: Store;
  /** Clock of the store, ms since the epoch. */
  readonly now: () => number;
  /** Lets this time pass for the store. */
  elapse(ms: number): Promise<void>;
}

/** Lifetime that ends within a test, and the time to wait for its end. */
export const SHORT_MS = 500;
export const PAST_SHORT_MS = 600;
