const SWEEP_EVERY_MS = 300_000;

/** Key, value and expiry of an entry, in ms on the clock of the map. */
export type ExpiringEntry<Value> = readonly [key: string, value: Value, until: number];

interface Item<Value> {
  readonly value: Value;
  /** ms on the clock of the map. */
  readonly until: number;
}

/** Map whose entries expire. An expired entry is removed when it is read, or by a sweep every 5 minutes. */
export class ExpiringMap<Value> {
  readonly #now: () => number;
  readonly #onRemoved: ((value: Value) => void) | undefined;
  readonly #items = new Map<string, Item<Value>>();
  #sweptAt: number;

  /** @param onRemoved called once for each entry that expired, or was deleted, taken, dropped or replaced */
  constructor(now: () => number, onRemoved?: (value: Value) => void) {
    this.#now = now;
    this.#onRemoved = onRemoved;
    this.#sweptAt = now();
  }

  get(key: string): Value | undefined {
    return this.#live(key)?.value;
  }

  has(key: string): boolean {
    return this.#live(key) !== undefined;
  }

  /** Returns the remaining lifetime of an entry; 0 when there is none. */
  remainingMs(key: string): number {
    const item = this.#live(key);
    return item ? item.until - this.#now() : 0;
  }

  /** Sets an entry and makes it the newest one. */
  set(key: string, value: Value, ttlMs: number): void {
    const now = this.#now();
    if (now - this.#sweptAt >= SWEEP_EVERY_MS) this.sweep();
    this.#remove(key);
    if (ttlMs > 0) this.#items.set(key, { value, until: now + ttlMs });
  }

  delete(key: string): boolean {
    const live = this.has(key);
    this.#remove(key);
    return live;
  }

  take(key: string): Value | undefined {
    const value = this.get(key);
    this.#remove(key);
    return value;
  }

  /** Removes the oldest entries until one more fits within `max`. */
  dropOldest(max: number): void {
    for (const key of this.#items.keys()) {
      if (this.#items.size < max) return;
      this.#remove(key);
    }
  }

  /** Returns true when one more entry fits within `max`. */
  hasRoom(max: number): boolean {
    if (this.#items.size >= max) this.sweep();
    return this.#items.size < max;
  }

  /** Returns key and value of the oldest entry. */
  oldest(): readonly [string, Value] | undefined {
    for (const key of this.#items.keys()) {
      const item = this.#live(key);
      if (item) return [key, item.value];
    }
    return undefined;
  }

  /** Returns the values that have not expired. */
  *values(): Generator<Value> {
    for (const key of this.#items.keys()) {
      const item = this.#live(key);
      if (item) yield item.value;
    }
  }

  /** Returns the entries that have not expired, the oldest first. */
  entries(): ExpiringEntry<Value>[] {
    this.sweep();
    return [...this.#items].map(([key, { value, until }]) => [key, value, until]);
  }

  /** Adds entries of an earlier map, except those that have expired since. */
  restore(entries: readonly ExpiringEntry<Value>[]): void {
    const now = this.#now();
    for (const [key, value, until] of entries) this.set(key, value, until - now);
  }

  /** Returns the number of entries, and the time until the next one expires. */
  census(): { readonly size: number; readonly nextMs: number } {
    this.sweep();
    let next = Infinity;
    for (const { until } of this.#items.values()) next = Math.min(next, until);
    return { size: this.#items.size, nextMs: next - this.#now() };
  }

  /** Number of entries, including expired ones that have not been swept. */
  get size(): number {
    return this.#items.size;
  }

  sweep(): void {
    const now = this.#now();
    this.#sweptAt = now;
    for (const [key, { until }] of this.#items) if (until <= now) this.#remove(key);
  }

  #remove(key: string): void {
    const item = this.#items.get(key);
    if (item && this.#items.delete(key)) this.#onRemoved?.(item.value);
  }

  #live(key: string): Item<Value> | undefined {
    const item = this.#items.get(key);
    if (!item || item.until > this.#now()) return item;
    this.#remove(key);
    return undefined;
  }
}
