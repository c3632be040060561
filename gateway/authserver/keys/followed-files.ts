const RECHECK_AFTER_MS = 1_000;

/** The part of the log that is used here. */
export interface KeyLog {
  warn(message: string, facts?: Readonly<Record<string, unknown>>): void;
  error(message: string, facts?: Readonly<Record<string, unknown>>): void;
}

export interface FollowedFilesOptions<Value> {
  /** Content of each file as it is now. Throws an Error that names the file. */
  readonly readers: readonly (() => string)[];
  /** Throws an Error that names the file whose content cannot be used. */
  readonly build: (contents: readonly string[]) => Value;
  /** ms on a clock that only goes forward. */
  readonly now: () => number;
  /** Told once of each fault that a change brings. */
  readonly onFault: (message: string) => void;
}

/**
 * What follows from some files, looked at together at most once a second: the same object until a content changes. A
 * change that cannot be used leaves the last good value in force.
 */
export class FollowedFiles<Value> {
  readonly #options: FollowedFilesOptions<Value>;
  #contents: readonly string[];
  #value: Value;
  #checkedAt: number;
  #fault: string | undefined;

  /** Throws what the readers and `build` throw. */
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
      this.#tell(error instanceof Error ? error.message : 'unknown fault');
    }
    return this.#value;
  }

  #follow(): void {
    const contents = this.#options.readers.map((read) => read());
    if (contents.every((content, index) => content === this.#contents[index])) return;
    this.#value = this.#options.build(contents);
    this.#contents = contents;
  }

  #tell(fault: string): void {
    if (fault === this.#fault) return;
    this.#fault = fault;
    this.#options.onFault(fault);
  }
}
