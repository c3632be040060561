const RECHECK_AFTER_MS = 1_000;

interface FollowedFilesOptions<Value> {
  /** Functions that return the current content of each file. They throw an Error that names the file. */
  readonly readers: readonly (() => string)[];
  /** Builds the value. Throws an Error that names the file with unusable content. */
  readonly build: (contents: readonly string[]) => Value;
  /** ms on a monotonic clock. */
  readonly now: () => number;
  /** Called once for each new fault after a change. */
  readonly onFault: (message: string) => void;
}

/**
 * Value built from files that are read at most once a second: the same object until a content changes. An unusable change
 * keeps the last valid value.
 */
export class FollowedFiles<Value> {
  readonly #options: FollowedFilesOptions<Value>;
  #contents: readonly string[];
  #value: Value;
  #checkedAt: number;
  #fault: string | undefined;

  /** Throws the errors of the readers and of `build`. */
  constructor(options: FollowedFilesOptions<Value>) {
    this.#options = options;
    this.#checkedAt = options.now();
    this.#contents = options.readers.map((read) => read());
    this.#value = options.build(this.#contents);
  }

  current(): Value {
    const now = this.#options.now();
    if (now - this.#checkedAt < RECHECK_AFTER_MS) return this.#value;
    this.#checkedAt = now;
    try {
      this.#follow();
      this.#fault = undefined;
    } catch (error) {
      this.#report(error instanceof Error ? error.message : 'unknown fault');
    }
    return this.#value;
  }

  #follow(): void {
    const contents = this.#options.readers.map((read) => read());
    if (contents.every((content, index) => content === this.#contents[index])) return;
    this.#value = this.#options.build(contents);
    this.#contents = contents;
  }

  #report(fault: string): void {
    if (fault === this.#fault) return;
    this.#fault = fault;
    this.#options.onFault(fault);
  }
}
