import type { Identity } from '../../contract/identity.ts';
import { RecentlyUsed } from '../recently-used.ts';
import type { ExchangeRefused } from './reply.ts';

const MAX_CALLERS = 10_000;
const FOR_EVERYONE_MS = 5_000;
const FOR_CALLER_MS = 2_000;

interface Refusal {
  readonly error: ExchangeRefused;
  /** ms since the epoch. */
  readonly until: number;
}

/** Recent rejections of a token endpoint, so that calls do not repeat the same request. */
export class TokenExchangeRefusals {
  readonly #now: () => number;
  /** Client secret of the rejected request. */
  #ofEveryone: (Refusal & { readonly secret: string | undefined }) | undefined;
  readonly #ofCallers = new RecentlyUsed<Refusal & Pick<Identity, 'principal' | 'tsid'>>(MAX_CALLERS);

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Returns true when a login could not help when the endpoint last rejected this token. A later rejection is no other. */
  isHopeless({ principal, tsid, token }: Identity): boolean {
    const own = this.#ofCallers.get(token.reveal(), this.#now());
    return own?.error.fault === 'misconfigured' && own.principal === principal && own.tsid === tsid;
  }

  /** Throws the rejection that still applies to this user. `secret` is the current client secret. */
  check({ principal, tsid, token }: Identity, secret: string | undefined): void {
    const now = this.#now();
    const everyone = this.#ofEveryone;
    if (everyone && everyone.secret === secret && now < everyone.until) throw everyone.error;
    const own = this.#ofCallers.get(token.reveal(), now);
    if (own && own.principal === principal && own.tsid === tsid && now < own.until) throw own.error;
  }

  add(error: ExchangeRefused, { principal, tsid, token }: Identity, secret: string | undefined): void {
    const now = this.#now();
    if (error.refuses === 'everyone') this.#ofEveryone = { error, secret, until: now + FOR_EVERYONE_MS };
    else this.#ofCallers.set(token.reveal(), { error, principal, tsid, until: now + FOR_CALLER_MS }, now);
  }
}
