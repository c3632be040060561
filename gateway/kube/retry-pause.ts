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
    const longest = Math.min(FIRST_MS * 2 ** this.#failures, LONGEST_MS);
    this.#failures += 1;
    return Math.max(atLeast, (longest * (1 + this.#random())) / 2);
  }

  reset(): void {
    this.#failures = 0;
  }
}
