import type { BackendFailure } from '../channel.ts';

/**
 * Wait before a broken stream is resumed, when the backend names no other. Before a wait of this length or longer the
 * stream is requested once without a wait, although MCP 2025-11-25 asks clients to wait: @modelcontextprotocol/sdk 1.29
 * drops a reply that is ready while no stream is open, so a client that waits never gets it.
 */
const USUAL_WAIT_MS = 1_000;
/** Shortest wait: a backend that asks for a shorter one would cause a hot loop. */
const SHORTEST_WAIT_MS = 50;

/** Returns true for a status that rejects a resumption for now: the backend insists on the wait. */
const isTemporary = (status: number): boolean => status >= 500 || status === 409 || status === 429;

/**
 * State of an event stream that is resumed with `Last-Event-ID` when it breaks.
 * @see MCP 2025-11-25, basic/transports, Resumability and Redelivery
 */
export class Resumption {
  #lastEventId: string | undefined;
  #waitMs = USUAL_WAIT_MS;
  #timer: NodeJS.Timeout | undefined;
  #wasScheduled = false;
  #isEarly = false;
  #brokenBy: BackendFailure | undefined;

  /** True from a request before the wait has passed until the backend opens the stream. */
  get isEarly(): boolean {
    return this.#isEarly;
  }

  /** The failure that broke the stream last. */
  get brokenBy(): BackendFailure | undefined {
    return this.#brokenBy;
  }

  received({ id, retry }: { readonly id: string | undefined; readonly retry?: number }): void {
    this.#lastEventId = id;
    if (retry !== undefined) this.#waitMs = Math.max(retry, SHORTEST_WAIT_MS);
  }

  /** Returns true when `status` rejects a request that came before the wait had passed. */
  isTooEarly(status: number): boolean {
    this.#isEarly &&= isTemporary(status);
    return this.#isEarly;
  }

  /** Calls `open` after the wait. Returns false when the events had no ids: the stream cannot be resumed. */
  schedule(failure: BackendFailure, open: (lastEventId: string) => void): boolean {
    const lastEventId = this.#lastEventId;
    if (lastEventId === undefined) return false;
    this.#brokenBy = failure;
    this.#isEarly = !this.#wasScheduled && this.#waitMs >= USUAL_WAIT_MS;
    this.#wasScheduled = true;
    this.#timer = setTimeout(open, this.#isEarly ? 0 : this.#waitMs, lastEventId);
    return true;
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
