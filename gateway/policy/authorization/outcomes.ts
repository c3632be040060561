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

/** Map that removes the entry that was not used for the longest time when it is full. */
class Recent<Value> {
  readonly #entries = new Map<string, Value>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  get(key: string): Value | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  set(key: string, value: Value): void {
    this.#entries.set(key, value);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > this.#most && oldest !== undefined) this.#entries.delete(oldest);
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
