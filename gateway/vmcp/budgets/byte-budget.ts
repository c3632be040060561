import { ANONYMOUS } from '../../contract/identity.ts';
import type { ByteLimits } from './limits.ts';

/** Bytes of one kind that are in memory, by principal and in all. Takes part in large messages only. */
export class ByteBudget {
  readonly #limits: ByteLimits;
  readonly #byPrincipal = new Map<string, number>();
  #used = 0;

  constructor(limits: ByteLimits) {
    this.#limits = limits;
  }

  get used(): number {
    return this.#used;
  }

  usedBy(principal: string): number {
    return this.#byPrincipal.get(principal) ?? 0;
  }

  /** True when `more` bytes of this principal fit. Anonymous clients cannot be told apart: they share the whole. */
  fits(principal: string, more: number): boolean {
    if (this.#used + more > this.#limits.total) return false;
    return principal === ANONYMOUS || this.usedBy(principal) + more <= this.#limits.perPrincipal;
  }

  /** A share of `principal` that holds nothing yet. */
  open(principal: string): HeldBytes {
    return new HeldBytes(this, principal);
  }

  /** For `HeldBytes` alone. */
  add(principal: string, difference: number): void {
    this.#used += difference;
    const own = this.usedBy(principal) + difference;
    if (own === 0) this.#byPrincipal.delete(principal);
    else this.#byPrincipal.set(principal, own);
  }
}

/** Bytes that somebody holds in memory. Has one holder at first; the bytes are given back by the last `release`. */
export class HeldBytes {
  readonly #budget: ByteBudget;
  readonly #principal: string;
  #bytes = 0;
  #holders = 1;

  constructor(budget: ByteBudget, principal: string) {
    this.#budget = budget;
    this.#principal = principal;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Holds `bytes` instead of what it held. False: the budget has no room for more, and nothing changed. */
  resize(bytes: number): boolean {
    const difference = bytes - this.#bytes;
    if (difference > 0 && !this.#budget.fits(this.#principal, difference)) return false;
    this.#bytes = bytes;
    if (difference !== 0) this.#budget.add(this.#principal, difference);
    return true;
  }

  /** One more holder, who calls `release`. */
  retain(): void {
    this.#holders += 1;
  }

  release(): void {
    this.#holders -= 1;
    if (this.#holders === 0) this.resize(0);
  }
}
