import { compareText } from '../../resolve/snapshot.ts';

/** Values by name. `view` is a map in the order of names that never changes once it is given out. */
export class SortedView<T> {
  #view: ReadonlyMap<string, T> = new Map();
  /** What came since `view` was made; undefined for what went. */
  readonly #changes = new Map<string, T | undefined>();

  set(name: string, value: T | undefined): void {
    if (value === undefined && !this.#view.has(name)) this.#changes.delete(name);
    else this.#changes.set(name, value);
  }

  view(): ReadonlyMap<string, T> {
    if (this.#changes.size === 0) return this.#view;
    this.#view = this.#namesStay() ? this.#replaced() : this.#merged();
    this.#changes.clear();
    return this.#view;
  }

  #namesStay(): boolean {
    return [...this.#changes].every(([name, value]) => value !== undefined && this.#view.has(name));
  }

  #replaced(): ReadonlyMap<string, T> {
    const view = new Map(this.#view);
    for (const [name, value] of this.#changes) view.set(name, value as T);
    return view;
  }

  #merged(): ReadonlyMap<string, T> {
    const fresh = [...this.#changes.keys()].filter((name) => !this.#view.has(name)).sort(compareText);
    const view = new Map<string, T>();
    const put = (name: string, value: T | undefined): void => {
      if (value !== undefined) view.set(name, value);
    };
    let next = 0;
    for (const [name, value] of this.#view) {
      for (let each = fresh[next]; each !== undefined && each < name; each = fresh[next]) {
        put(each, this.#changes.get(each));
        next += 1;
      }
      put(name, this.#changes.has(name) ? this.#changes.get(name) : value);
    }
    for (const each of fresh.slice(next)) put(each, this.#changes.get(each));
    return view;
  }
}
