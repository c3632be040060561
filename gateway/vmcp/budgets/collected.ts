import type { Account } from './account.ts';
import type { HeldBytes } from './byte-budget.ts';
import { UNCOUNTED_PARTIAL_BYTES } from './limits.ts';

/** Counts the message that a stream of a backend has not completed yet. */
export class Collected {
  readonly #account: Account;
  #held: HeldBytes | undefined;

  constructor(account: Account) {
    this.#account = account;
  }

  /** Returns false when a message of which `bytes` have arrived does not fit into the budget. */
  fits(bytes: number): boolean {
    if (bytes <= UNCOUNTED_PARTIAL_BYTES) {
      this.release();
      return true;
    }
    this.#held ??= this.#account.reply();
    if (this.#held.resize(bytes)) return true;
    this.#account.refused('reply_bytes');
    return false;
  }

  release(): void {
    this.#held?.release();
    this.#held = undefined;
  }
}
