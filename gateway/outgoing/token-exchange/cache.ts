import type { Identity, Secret } from '../../contract/identity.ts';
import type { CredentialHeaders } from '../authenticator.ts';
import { RecentlyUsed } from '../recently-used.ts';

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
  /** The stored access token that it was made from; undefined when the caller's own token was the subject. */
  readonly stored: Secret | undefined;
}

/** What an earlier exchange of the same token for the same caller left behind. */
export interface EarlierExchange {
  /** The stored access token that it was made from, when the backend has refused what came of it. */
  readonly refused: Secret | undefined;
}

type Exchange = (caller: Identity, earlier: EarlierExchange | undefined) => Promise<ExchangedToken>;

interface Held {
  readonly principal: string;
  readonly tsid: string | undefined;
  readonly headers: CredentialHeaders;
  readonly stored: Secret | undefined;
  /** The backend did not accept it. */
  readonly refused: boolean;
  /** ms since the epoch. It is kept longer than it is used: it tells that this token could be exchanged. */
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
  get(caller: Identity, exchange: Exchange): CredentialHeaders | Promise<CredentialHeaders> {
    const now = this.#now();
    const held = this.#heldFor(caller, now);
    if (held && !held.refused && now < held.until) return held.headers;
    const key = JSON.stringify([caller.principal, caller.tsid, caller.token.reveal()]);
    const known = this.#flights.get(key);
    if (known) return known;
    const earlier = held && { refused: held.refused ? held.stored : undefined };
    const flight = this.#fly(caller, now, exchange, earlier).finally(() => this.#flights.delete(key));
    this.#flights.set(key, flight);
    return flight;
  }

  /** Never again gives what is held for the caller's token, if it is what was sent: something newer stays. */
  refuse(caller: Identity, wasSent: (headers: CredentialHeaders) => boolean): void {
    const now = this.#now();
    const held = this.#heldFor(caller, now);
    if (held && wasSent(held.headers)) this.#held.set(caller.token.reveal(), { ...held, refused: true }, now);
  }

  #heldFor({ principal, tsid, token }: Identity, now: number): Held | undefined {
    const held = this.#held.get(token.reveal(), now);
    return held && held.principal === principal && held.tsid === tsid ? held : undefined;
  }

  async #fly(
    caller: Identity,
    startedAt: number,
    exchange: Exchange,
    earlier: EarlierExchange | undefined,
  ): Promise<CredentialHeaders> {
    const { headers, stored, expiresInSeconds, subjectExpiresAt = Infinity } = await exchange(caller, earlier);
    const until = Math.min(startedAt + lifeMs(expiresInSeconds), startedAt + MAX_LIFE_MS, subjectExpiresAt);
    const { principal, tsid, token } = caller;
    this.#held.set(token.reveal(), { principal, tsid, headers, stored, refused: false, until }, this.#now());
    return headers;
  }
}
