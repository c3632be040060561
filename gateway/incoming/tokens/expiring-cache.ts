const MAX_ENTRIES = 10_000;

/**
 * Cache of results about tokens. Evicts the oldest entry first: all entries live about equally
 * long, so a hit writes nothing.
 */
export class ExpiringCache<Value> {
  readonly #entries = new Map<string, { readonly value: Value; readonly until: number }>();

  get size(): number {
    return this.#entries.size;
  }

  get(key: string, now: number): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.until > now) return entry.value;
    this.#entries.delete(key);
    return undefined;
  }

  /** `until` in ms since the epoch. */
  set(key: string, value: Value, until: number, now: number): void {
    this.#entries.delete(key);
    if (until <= now) return;
    if (this.#entries.size >= MAX_ENTRIES) this.#dropOldest();
    this.#entries.set(key, { value, until });
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
  }

  #dropOldest(): void {
    for (const key of this.#entries.keys()) {
      this.#entries.delete(key);
      return;
    }
  }
}
