/** Time for which a use is not recorded again, so that a hit costs one look-up. */
const TOUCH_MS = 1_000;

interface Item<Value> {
  readonly value: Value;
  touchedAt: number;
}

/** Cache of the `max` most recently used values. Times are in ms. */
export class RecentlyUsed<Value> {
  readonly #max: number;
  /** Oldest use first. */
  readonly #items = new Map<string, Item<Value>>();

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
    this.#items.delete(key);
    this.#items.set(key, { value, touchedAt: now });
    if (this.#items.size <= this.#max) return;
    for (const oldest of this.#items.keys()) {
      this.#items.delete(oldest);
      return;
    }
  }

  delete(key: string): void {
    this.#items.delete(key);
  }
}
