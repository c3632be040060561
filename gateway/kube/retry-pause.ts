import { backoffMs } from '../kit/time.ts';

const FIRST_MS = 200;
const LONGEST_MS = 10_000;

/** Pauses after consecutive failures: each twice as long as the last, half of it random. */
export class RetryPause {
  readonly #random: () => number;
  #failures = 0;

  constructor(random: () => number) {
    this.#random = random;
  }

  /** In a row. */
  get failures(): number {
    return this.#failures;
  }

  /** @param atLeast pause that the server requested */
  next(atLeast = 0): number {
    this.#failures += 1;
    const longest = backoffMs(this.#failures, FIRST_MS, LONGEST_MS);
    return Math.max(atLeast, (longest * (1 + this.#random())) / 2);
  }

  reset(): void {
    this.#failures = 0;
  }
}
