/** Shortest pause between look-ups of one client. */
const CLIENT_PAUSE_MS = 30_000;
/** Look-ups of all clients at once. */
const CAPACITY = 10;
/** Time until one more look-up is possible. */
const REFILL_MS = 3_000;

/**
 * Budget of the fetches for tokens with an unknown key: one in 30 s for each client, and a token bucket of ten for all. A client with
 * invented keys does not delay the look-up of another client after a rotation.
 */
export class LookUpBudget {
  #tokens = CAPACITY;
  #filledAt = -Infinity;
  /** Latest look-up of each client, ms. Few, because the bucket limits them. */
  readonly #lookedUpAt = new Map<string, number>();

  /** Takes a look-up. Returns false when the client or all clients have used up theirs. @param now ms */
  take(client: string, now: number): boolean {
    for (const [key, at] of this.#lookedUpAt) if (now - at >= CLIENT_PAUSE_MS) this.#lookedUpAt.delete(key);
    if (this.#lookedUpAt.has(client)) return false;
    this.#fill(now);
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    this.#lookedUpAt.set(client, now);
    return true;
  }

  #fill(now: number): void {
    this.#tokens = Math.min(CAPACITY, this.#tokens + (now - this.#filledAt) / REFILL_MS);
    this.#filledAt = now;
  }
}
