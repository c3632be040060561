const SWEEP_EVERY_MS = 300_000;
/** Time for which a use is not recorded again, so that a hit costs one look-up. */
const TOUCH_MS = 1_000;

/** Sets an entry of a map, makes it the newest, and removes the oldest if there are more than `max`. */
export function setNewest<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, max: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= max) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}

interface Used<Value> {
  readonly value: Value;
  touchedAt: number;
}

/** Cache of the `max` most recently used values. Times are in ms. */
export class RecentlyUsed<Value> {
  readonly #max: number;
  /** Oldest use first. */
  readonly #items = new Map<string, Used<Value>>();

  constructor(max: number) {
    this.#max = max;
  }

  get(key: string, now: number): Value | undefined {
    const item = this.#items.get(key);
    if (!item) return undefined;
    if (now - item.touchedAt >= TOUCH_MS) {
      item.touchedAt = now;
      this.#items.delete(key);
      this.#items.set(key, item);
    }
    return item.value;
  }

  set(key: string, value: Value, now: number): void {
    setNewest(this.#items, key, { value, touchedAt: now }, this.#max);
  }

  delete(key: string): void {
    this.#items.delete(key);
  }
}

/** Key, value and expiry of an entry, in ms on the clock of the map. */
export type ExpiringEntry<Value> = readonly [key: string, value: Value, until: number];

interface Item<Value> {
  readonly value: Value;
  /** ms on the clock of the map. */
  readonly until: number;
}

/**
 * Map whose entries expire. An expired entry is removed when it is read, or by a sweep every 5 minutes. A map of a limited size
 * removes its oldest entry when another is added: a hit writes nothing.
 */
export class ExpiringMap<Value> {
  readonly #now: () => number;
  readonly #max: number;
  readonly #onRemoved: ((value: Value) => void) | undefined;
  readonly #items = new Map<string, Item<Value>>();
  #sweptAt: number;

  /**
   * @param onRemoved called once for each entry that expired, or was deleted, taken, dropped or replaced
   * @param max entries at most
   */
  constructor(now: () => number, onRemoved?: (value: Value) => void, max = Infinity) {
    this.#now = now;
    this.#max = max;
    this.#onRemoved = onRemoved;
    this.#sweptAt = now();
  }

  /** @param now present time, where the caller has just read it */
  get(key: string, now?: number): Value | undefined {
    return this.#live(key, now)?.value;
  }

  has(key: string): boolean {
    return this.#live(key) !== undefined;
  }

  /** Returns the remaining lifetime of an entry; 0 when there is none. */
  remainingMs(key: string): number {
    const item = this.#live(key);
    return item ? item.until - this.#now() : 0;
  }

  /** Sets an entry and makes it the newest. */
  set(key: string, value: Value, ttlMs: number, now = this.#now()): void {
    if (now - this.#sweptAt >= SWEEP_EVERY_MS) this.sweep();
    this.#remove(key);
    if (!(ttlMs > 0)) return;
    if (this.#items.size >= this.#max) this.dropOldest(this.#max);
    this.#items.set(key, { value, until: now + ttlMs });
  }

  delete(key: string): boolean {
    const live = this.has(key);
    this.#remove(key);
    return live;
  }

  clear(): void {
    for (const key of this.#items.keys()) this.#remove(key);
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

  /** Returns the number of entries, and the time until the next expires. */
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

  #live(key: string, now?: number): Item<Value> | undefined {
    const item = this.#items.get(key);
    if (!item || item.until > (now ?? this.#now())) return item;
    this.#remove(key);
    return undefined;
  }
}
