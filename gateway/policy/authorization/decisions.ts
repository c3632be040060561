import type { ListedItem } from '../policy.ts';
import type { Principal } from './authorizer.ts';

/** Limits of one cache. */
const MOST_PRINCIPALS = 2_000;
const MOST_DECISIONS = 20_000;
/** Longer names are not cached: clients choose them. */
const LONGEST_NAME = 2_048;

interface Entry {
  readonly item: Pick<ListedItem, 'backend' | 'json'>;
  readonly allowed: boolean;
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

/** Cached decisions by principal and item. An item that its backend changes is decided again. */
export class Decisions {
  readonly #numbers = new Recent<number>(MOST_PRINCIPALS);
  readonly #decisions = new Recent<Entry>(MOST_DECISIONS);
  #next = 0;

  /** Returns the decision, from `evaluate` when there is none yet. */
  get(principal: Principal, item: ListedItem, evaluate: () => boolean): boolean {
    if (item.name.length > LONGEST_NAME) return evaluate();
    const key = `${String(this.#numberOf(principal))} ${item.kind} ${item.name}`;
    const known = this.#decisions.get(key);
    if (known && known.item.json === item.json && known.item.backend === item.backend) return known.allowed;
    const allowed = evaluate();
    this.#decisions.set(key, { item: { backend: item.backend, json: item.json }, allowed });
    return allowed;
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
