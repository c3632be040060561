import { ANONYMOUS } from '../../contract/identity.ts';

/** Limit of the event streams of sessions at one backend, per principal and in total. */
export class StreamPlaces {
  readonly #limits: { readonly total: number; readonly perPrincipal: number };
  readonly #byPrincipal = new Map<string, number>();
  #taken = 0;

  constructor(limits: { readonly total: number; readonly perPrincipal: number }) {
    this.#limits = limits;
  }

  get taken(): number {
    return this.#taken;
  }

  /** Returns false at the limit. Anonymous clients cannot be distinguished: they share the whole capacity. */
  take(principal: string): boolean {
    const own = this.#byPrincipal.get(principal) ?? 0;
    if (this.#taken >= this.#limits.total) return false;
    if (principal !== ANONYMOUS && own >= this.#limits.perPrincipal) return false;
    this.#taken += 1;
    this.#byPrincipal.set(principal, own + 1);
    return true;
  }

  leave(principal: string): void {
    const own = this.#byPrincipal.get(principal) ?? 0;
    this.#taken -= 1;
    if (own <= 1) this.#byPrincipal.delete(principal);
    else this.#byPrincipal.set(principal, own - 1);
  }
}
