/** A call that a session waits for. */
export interface RunningCall {
  /** JSON text of the client's id. */
  readonly id: string;
  /** Index in `RunningCalls`, which alone writes it; -1 while it is in none. */
  place: number;
  /** Ends the call without a reply. */
  cancel(reason: string): void;
}

/**
 * Calls of one session that run. No `Set`: when that has grown and shrunk, V8 keeps its former tables, with the calls that
 * ran then, until the next full collection. With many calls at a time in one session the collections of young objects
 * would take ten times as long.
 */
export class RunningCalls implements Iterable<RunningCall> {
  readonly #calls: RunningCall[] = [];

  get size(): number {
    return this.#calls.length;
  }

  /** Does nothing for a call that is here already. */
  add(call: RunningCall): void {
    if (call.place === -1) call.place = this.#calls.push(call) - 1;
  }

  /** Does nothing for a call that is not here. */
  delete(call: RunningCall): void {
    const { place } = call;
    if (place === -1) return;
    call.place = -1;
    const last = this.#calls.pop();
    if (!last || last === call) return;
    this.#calls[place] = last;
    last.place = place;
  }

  /** Calls may be deleted while they are listed. */
  [Symbol.iterator](): Iterator<RunningCall> {
    return [...this.#calls][Symbol.iterator]();
  }
}
