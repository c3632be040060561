import { ANONYMOUS } from '../../contract/identity.ts';
import type { ByteLimits } from './limits.ts';

/** Count of the bytes of one kind in memory, per principal and in total. Contains large messages only. */
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

  /**
   * Returns true when `more` bytes of this principal fit. Anonymous clients cannot be distinguished: they share the
   * whole budget.
   */
  fits(principal: string, more: number): boolean {
    if (this.#used + more > this.#limits.total) return false;
    return principal === ANONYMOUS || this.usedBy(principal) + more <= this.#limits.perPrincipal;
  }

  /** Opens an empty share for `principal`. */
  open(principal: string): HeldBytes {
    return new HeldBytes(this, principal);
  }

  /** Called by `HeldBytes` only. */
  add(principal: string, difference: number): void {
    this.#used += difference;
    const own = this.usedBy(principal) + difference;
    if (own === 0) this.#byPrincipal.delete(principal);
    else this.#byPrincipal.set(principal, own);
  }
}

/** A share of a budget. Starts with one holder; the last `release` frees the bytes. */
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

  /** Changes the size of the share. Returns false, and changes nothing, when the budget has no room. */
  resize(bytes: number): boolean {
    const difference = bytes - this.#bytes;
    if (difference > 0 && !this.#budget.fits(this.#principal, difference)) return false;
    this.#bytes = bytes;
    if (difference !== 0) this.#budget.add(this.#principal, difference);
    return true;
  }

  /** Adds a holder, which must call `release`. */
  retain(): void {
    this.#holders += 1;
  }

  release(): void {
    this.#holders -= 1;
    if (this.#holders === 0) this.resize(0);
  }
}
