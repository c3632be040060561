/** Runs the tasks of one name one after the other, and those of other names beside them. */
export class TurnsByName {
  readonly #tails = new Map<string, Promise<unknown>>();

  async run<Result>(name: string, task: () => Promise<Result>): Promise<Result> {
    const result = (this.#tails.get(name) ?? Promise.resolve()).then(task);
    const tail = result.catch(() => undefined);
    this.#tails.set(name, tail);
    try {
      return await result;
    } finally {
      if (this.#tails.get(name) === tail) this.#tails.delete(name);
    }
  }
}
