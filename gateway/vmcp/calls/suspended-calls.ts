import { randomUUID } from 'node:crypto';
import { LONGEST_HOLD_MS } from '../transport/channel.ts';

/** Most calls that wait for input, of all clients. */
const MOST = 10_000;

/** A call whose client was asked for input. */
export interface SuspendedCall {
  /** Cancels the call because the client did not come back. */
  abandon(): void;
}

interface Entry<Call> {
  readonly call: Call;
  readonly timer: NodeJS.Timeout;
}

/** Calls of this process whose client was asked for input and has not repeated its request yet. */
export class SuspendedCalls<Call extends SuspendedCall = SuspendedCall> {
  readonly #byHandle = new Map<string, Entry<Call>>();

  get isFull(): boolean {
    return this.#byHandle.size >= MOST;
  }

  /** Returns the handle of the call, which is abandoned after the longest time that a backend waits for a client. */
  add(call: Call): string {
    const handle = randomUUID();
    const timer = setTimeout(() => {
      this.take(handle)?.abandon();
    }, LONGEST_HOLD_MS).unref();
    this.#byHandle.set(handle, { call, timer });
    return handle;
  }

  /** Removes and returns the call with this handle. */
  take(handle: string): Call | undefined {
    const found = this.#byHandle.get(handle);
    if (!found) return undefined;
    clearTimeout(found.timer);
    this.#byHandle.delete(handle);
    return found.call;
  }

  /** Abandons all calls: their clients cannot reach this process any more. */
  clear(): void {
    for (const handle of [...this.#byHandle.keys()]) this.take(handle)?.abandon();
  }
}
