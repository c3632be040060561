import { ANONYMOUS } from '../../contract/identity.ts';

/** Calls in progress of the principals of one process, at all virtual servers and backends together. */
export class CallsInProgress {
  readonly #perPrincipal: number;
  readonly #byPrincipal = new Map<string, CallCount>();

  constructor(perPrincipal: number) {
    this.#perPrincipal = perPrincipal;
  }

  /** Principals with a session or a call. */
  get principals(): number {
    return this.#byPrincipal.size;
  }

  /**
   * Returns the count that all sessions of `principal` share. Each must close it once. Anonymous clients cannot be
   * distinguished: their calls have no limit here, only those of each backend.
   */
  open(principal: string): CallCount {
    let count = this.#byPrincipal.get(principal);
    if (count === undefined) {
      count = new CallCount(principal === ANONYMOUS ? Infinity : this.#perPrincipal, () => {
        this.#byPrincipal.delete(principal);
      });
      this.#byPrincipal.set(principal, count);
    }
    count.retain();
    return count;
  }
}

/** Count of the calls in progress of one principal. Lives until its sessions are closed and its calls have ended. */
export class CallCount {
  readonly #limit: number;
  readonly #onUnused: () => void;
  #running = 0;
  #sessions = 0;

  constructor(limit: number, onUnused: () => void) {
    this.#limit = limit;
    this.#onUnused = onUnused;
  }

  /** Counts a call, which must `leave`. Returns false at the limit. */
  enter(): boolean {
    if (this.#running >= this.#limit) return false;
    this.#running += 1;
    return true;
  }

  leave(): void {
    this.#running -= 1;
    if (this.#sessions === 0) this.#forgetUnused();
  }

  /** Called by `CallsInProgress` only. */
  retain(): void {
    this.#sessions += 1;
  }

  close(): void {
    this.#sessions -= 1;
    this.#forgetUnused();
  }

  #forgetUnused(): void {
    if (this.#sessions === 0 && this.#running === 0) this.#onUnused();
  }
}
