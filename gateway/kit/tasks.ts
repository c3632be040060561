/** Shares one run of a task among all that request it while it runs. */
export class SingleFlight<Result = void> {
  #running: Promise<Result> | undefined;

  /** Present run; undefined between runs. */
  get running(): Promise<Result> | undefined {
    return this.#running;
  }

  run(task: () => Promise<Result>): Promise<Result> {
    this.#running ??= task().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }
}

/** Shares one run of the task of a key among all that request it while it runs. */
export class Flights<Key, Result = void> {
  readonly #running = new Map<Key, Promise<Result>>();

  /** Number of runs that are under way. */
  get size(): number {
    return this.#running.size;
  }

  get(key: Key): Promise<Result> | undefined {
    return this.#running.get(key);
  }

  run(key: Key, task: () => Promise<Result>): Promise<Result> {
    const known = this.#running.get(key);
    if (known) return known;
    const flight = task().finally(() => {
      if (this.#running.get(key) === flight) this.#running.delete(key);
    });
    this.#running.set(key, flight);
    return flight;
  }

  /** Lets the next request start another run beside the present one. */
  forget(key: Key): void {
    this.#running.delete(key);
  }

  /** Returns the runs that are under way, by key. */
  entries(): MapIterator<[Key, Promise<Result>]> {
    return this.#running.entries();
  }
}

/** Runs tasks one after the other, in the order of their requests. A task that rejects does not stop the others. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve();

  run<Result>(task: () => Result | Promise<Result>): Promise<Result> {
    const result = this.#last.then(task);
    this.#last = result.catch(() => undefined);
    return result;
  }

  /** Resolves when the tasks that were requested so far have ended. */
  async ended(): Promise<void> {
    await this.#last;
  }
}

/** Runs the tasks of one name one after the other, and those of other names beside them. */
export class SerialQueues {
  readonly #queues = new Map<string, { readonly queue: SerialQueue; tasks: number }>();

  async run<Result>(name: string, task: () => Promise<Result>): Promise<Result> {
    const entry = this.#queues.get(name) ?? { queue: new SerialQueue(), tasks: 0 };
    this.#queues.set(name, entry);
    entry.tasks += 1;
    try {
      return await entry.queue.run(task);
    } finally {
      entry.tasks -= 1;
      if (entry.tasks === 0) this.#queues.delete(name);
    }
  }
}

/** Limits concurrent tasks; the others wait in order of arrival. */
export class Turns {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(atATime: number) {
    this.#free = atATime;
  }

  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await task();
    } finally {
      // Passes a free turn on directly, so that no newer task takes it.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free += 1;
    }
  }
}
