/** Steps that undo the changes of an operation, in reverse order. */
export class Undo {
  readonly #steps: (() => void | Promise<void>)[] = [];

  add(step: () => void | Promise<void>): void {
    this.#steps.push(step);
  }

  /** Undoes all changes. After a step that fails, the other steps still run. Returns the failures. */
  async run(): Promise<unknown[]> {
    const failures: unknown[] = [];
    for (const step of this.#steps.splice(0).reverse()) {
      try {
        await step();
      } catch (error) {
        failures.push(error);
      }
    }
    return failures;
  }
}
