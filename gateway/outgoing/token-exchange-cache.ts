import type { Identity } from '../contract/identity.ts';
import type { CredentialHeaders } from './authenticator.ts';
import { RecentlyUsed } from './recently-used.ts';

const MAX_ENTRIES = 10_000;
const MAX_LIFE_MS = 600_000;
/** How long before its end a token is exchanged anew. */
const MARGIN_SECONDS = 60;
/** How long a token is kept that lives hardly longer than the margin. */
const MIN_LIFE_SECONDS = 10;
/** How long a token is kept of whose life the endpoint says nothing. */
const UNSTATED_LIFE_SECONDS = 60;

/** What one exchange gave. */
export interface ExchangedToken {
  readonly headers: CredentialHeaders;
  /** As the endpoint said it; undefined when it said nothing. */
  readonly expiresInSeconds: number | undefined;
  /** End of the subject token's life, ms since the epoch. */
  readonly subjectExpiresAt: number | undefined;
}

interface Held {
  readonly principal: string;
  readonly tsid: string | undefined;
  readonly headers: CredentialHeaders;
  /** ms since the epoch. */
  readonly until: number;
}

const lifeMs = (expiresInSeconds = UNSTATED_LIFE_SECONDS + MARGIN_SECONDS): number =>
  1_000 * Math.max(expiresInSeconds - MARGIN_SECONDS, Math.min(MIN_LIFE_SECONDS, expiresInSeconds));

/**
 * Exchanged tokens of one backend and one configuration, by the caller's own token; in this process only. An entry
 * serves the user and the login that it was made for, and nobody else.
 */
export class TokenExchangeCache {
  readonly #now: () => number;
  readonly #held = new RecentlyUsed<Held>(MAX_ENTRIES);
  readonly #flights = new Map<string, Promise<CredentialHeaders>>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** At once when held. Calls that miss at the same time share one `exchange`; a failed one leaves nothing behind. */
  get(
    caller: Identity,
    exchange: (caller: Identity) => Promise<ExchangedToken>,
  ): CredentialHeaders | Promise<CredentialHeaders> {
    const now = this.#now();
    const held = this.#held.get(caller.token.reveal(), now);
    if (held && held.principal === caller.principal && held.tsid === caller.tsid && now < held.until) {
      return held.headers;
    }
    const key = JSON.stringify([caller.principal, caller.tsid, caller.token.reveal()]);
    const known = this.#flights.get(key);
    if (known) return known;
    const flight = this.#fly(caller, now, exchange).finally(() => this.#flights.delete(key));
    this.#flights.set(key, flight);
    return flight;
  }

  /** Forgets what is held for the caller's token if it is what was sent, so that something newer stays. */
  evict(caller: Identity, wasSent: (headers: CredentialHeaders) => boolean): void {
    const key = caller.token.reveal();
    const held = this.#held.get(key, this.#now());
    if (held && wasSent(held.headers)) this.#held.delete(key);
  }

  async #fly(
    caller: Identity,
    startedAt: number,
    exchange: (caller: Identity) => Promise<ExchangedToken>,
  ): Promise<CredentialHeaders> {
    const { headers, expiresInSeconds, subjectExpiresAt = Infinity } = await exchange(caller);
    const until = Math.min(startedAt + lifeMs(expiresInSeconds), startedAt + MAX_LIFE_MS, subjectExpiresAt);
    const { principal, tsid, token } = caller;
    this.#held.set(token.reveal(), { principal, tsid, headers, until }, this.#now());
    return headers;
  }
}
