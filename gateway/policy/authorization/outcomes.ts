import type { ListedItem } from '../policy.ts';
import type { Principal } from './authorizer.ts';
import { setNewest } from '../../kit/cache.ts';

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
 * Map of at most `most` entries. When it is full, it removes an entry that was not used during the last `most / 2` insertions. A use
 * moves an entry only after so many insertions: one that is used all the time is rarely moved.
 */
class Recent<Value> {
  readonly #entries = new Map<string, { readonly value: Value; readonly at: number }>();
  readonly #most: number;
  #insertions = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry && this.#insertions - entry.at > this.#most / 2) this.set(key, entry.value);
    return entry?.value;
  }

  set(key: string, value: Value): void {
    this.#insertions += 1;
    setNewest(this.#entries, key, { value, at: this.#insertions }, this.#most);
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
