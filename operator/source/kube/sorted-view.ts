import { compareText } from '../../resolve/snapshot.ts';

/** Values sorted by name. `view` returns an immutable snapshot. */
export class SortedView<T> {
  #view: ReadonlyMap<string, T> = new Map();
  /** Changes since the last snapshot. Undefined marks a removed value. */
  readonly #changes = new Map<string, T | undefined>();

  set(name: string, value: T | undefined): void {
    if (value === undefined && !this.#view.has(name)) this.#changes.delete(name);
    else this.#changes.set(name, value);
  }

  view(): ReadonlyMap<string, T> {
    if (this.#changes.size === 0) return this.#view;
    this.#view = this.#hasSameNames() ? this.#withReplacedValues() : this.#withMergedNames();
    this.#changes.clear();
    return this.#view;
  }

  #hasSameNames(): boolean {
    return [...this.#changes].every(([name, value]) => value !== undefined && this.#view.has(name));
  }

  #withReplacedValues(): ReadonlyMap<string, T> {
    const view = new Map(this.#view);
    for (const [name, value] of this.#changes) view.set(name, value as T);
    return view;
  }

  #withMergedNames(): ReadonlyMap<string, T> {
    const addedNames = [...this.#changes.keys()].filter((name) => !this.#view.has(name)).sort(compareText);
    const view = new Map<string, T>();
    const put = (name: string, value: T | undefined): void => {
      if (value !== undefined) view.set(name, value);
    };
    let next = 0;
    for (const [name, value] of this.#view) {
      for (let added = addedNames[next]; added !== undefined && added < name; added = addedNames[next]) {
        put(added, this.#changes.get(added));
        next += 1;
      }
      put(name, this.#changes.has(name) ? this.#changes.get(name) : value);
    }
    for (const added of addedNames.slice(next)) put(added, this.#changes.get(added));
    return view;
  }
}
