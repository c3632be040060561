import type { Account } from '../budgets/account.ts';
import type { HeldBytes } from '../budgets/byte-budget.ts';
import { UNCOUNTED_OUTPUT_BYTES } from '../budgets/limits.ts';

/** Most events, and most of their bytes, that a stream keeps for a client that reconnects. */
export const KEPT_BYTES = 1024 * 1024;
const KEPT_EVENTS = 1_000;

interface KeptEvent {
  readonly sequence: number;
  readonly bytes: Buffer;
}

/** The newest events of a stream, within the budget of its principal. */
export class KeptEvents {
  readonly #account: Account;
  #events: KeptEvent[] = [];
  #bytes = 0;
  /** Budget share of the events; undefined while nothing large is kept. */
  #held: HeldBytes | undefined;

  constructor(account: Account) {
    this.#account = account;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Number of the oldest event; undefined when none is kept. */
  get first(): number | undefined {
    return this.#events[0]?.sequence;
  }

  /** Keeps an event, and drops the oldest ones above the limits. Returns false when it is itself above them. */
  add(event: KeptEvent): boolean {
    this.#events.push(event);
    this.#bytes += event.bytes.length;
    while (this.#events.length > KEPT_EVENTS || (this.#bytes > KEPT_BYTES && this.#events.length > 0)) {
      this.#bytes -= this.#events.shift()?.bytes.length ?? 0;
    }
    if (this.#bytes <= UNCOUNTED_OUTPUT_BYTES && !this.#held) return this.#events.length > 0;
    if ((this.#held ??= this.#account.kept()).resize(this.#bytes)) return this.#events.length > 0;
    this.#account.refused('kept_bytes');
    this.forget();
    return false;
  }

  /** Returns the events behind number `sequence`. */
  after(sequence: number): readonly Buffer[] {
    return this.#events.filter((event) => event.sequence > sequence).map(({ bytes }) => bytes);
  }

  forget(): void {
    this.#events = [];
    this.#bytes = 0;
    this.#held?.resize(0);
  }
}
