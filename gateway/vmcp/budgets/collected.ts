import type { Account } from './account.ts';
import type { HeldBytes } from './byte-budget.ts';
import { UNCOUNTED_PARTIAL_BYTES } from './limits.ts';

/** Budget share of an incomplete message on a backend's stream. */
export class Collected {
  readonly #account: Account;
  #held: HeldBytes | undefined;

  constructor(account: Account) {
    this.#account = account;
  }

  /** Counts `bytes` of the incomplete message. Returns false when they exceed the budget. */
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
