import type { ListedItem } from '../policy.ts';
import type { Principal } from './authorizer.ts';

/** Limits of one cache. */
const MOST_PRINCIPALS = 2_000;
const MOST_OUTCOMES = 20_000;
/** Longer names are not cached: clients choose them. */
const LONGEST_NAME = 2_048;

interface Entry<Value> {
  readonly item: Pick<ListedItem, 'backend' | 'json'>;
  readonly value: Value;
}

/**
 * Map of at most `most` entries in two generations. When the younger one is full, it becomes the older one, and the entries that were
 * not used since the last time are removed. A use of a younger entry changes nothing: that is the usual case.
 */
class Recent<Value> {
  #young = new Map<string, Value>();
  #old = new Map<string, Value>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  get(key: string): Value | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  set(key: string, value: Value): void {
    if (this.#young.size >= this.#most / 2) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, value);
  }
}

/** Cached outcomes by principal and item. An item that its backend changes is evaluated again. */
export class Outcomes<Value> {
  readonly #numbers = new Recent<number>(MOST_PRINCIPALS);
  readonly #outcomes = new Recent<Entry<Value>>(MOST_OUTCOMES);
  #next = 0;

  /** Returns the outcome, from `evaluate` when there is none yet. */
  get(principal: Principal, item: ListedItem, evaluate: () => Value): Value {
    if (item.name.length > LONGEST_NAME) return evaluate();
    const key = `${String(this.#numberOf(principal))} ${item.kind} ${item.name}`;
    const known = this.#outcomes.get(key);
    if (known && known.item.json === item.json && known.item.backend === item.backend) return known.value;
    const value = evaluate();
    this.#outcomes.set(key, { item: { backend: item.backend, json: item.json }, value });
    return value;
  }

  /** Returns a number for the claims of a principal, which are longer. */
  #numberOf({ key }: Principal): number {
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    this.#next += 1;
    this.#numbers.set(key, this.#next);
    return this.#next;
  }
}
