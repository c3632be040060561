const FIRST_MS = 200;
const LONGEST_MS = 10_000;

/** How long to wait after each of several failures in a row: twice as long each time, half of it by chance. */
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

  /** @param atLeast what the server asked for */
  next(atLeast = 0): number {
    const longest = Math.min(FIRST_MS * 2 ** this.#failures, LONGEST_MS);
    this.#failures += 1;
    return Math.max(atLeast, (longest * (1 + this.#random())) / 2);
  }

  reset(): void {
    this.#failures = 0;
  }
}
