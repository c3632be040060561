import type { Identity, Secret } from '../../contract/identity.ts';
import type { CredentialHeaders } from '../authenticator.ts';
import { RecentlyUsed } from '../../kit/cache.ts';
import { Flights } from '../../kit/tasks.ts';
import type { ExchangeRefused } from './reply.ts';

const MAX_ENTRIES = 10_000;
const MAX_LIFE_MS = 600_000;
/** Time before expiry at which a token is exchanged again. */
const MARGIN_SECONDS = 60;
/** Time for which a token with a very short lifetime is cached. */
const MIN_LIFE_SECONDS = 10;
/** Time for which a token without a stated lifetime is cached. */
const UNSTATED_LIFE_SECONDS = 60;

/** Result of one exchange. */
export interface ExchangeResult {
  readonly headers: CredentialHeaders;
  /** Lifetime in the reply; undefined when the reply has none. */
  readonly expiresInSeconds: number | undefined;
  /** End of the subject token's life, ms since the epoch. */
  readonly subjectExpiresAt: number | undefined;
  /** Stored access token that was exchanged; undefined when the user's own token was the subject. */
  readonly stored: Secret | undefined;
}

/** State from an earlier exchange of the same token for the same user. */
export interface EarlierExchange {
  /** Stored access token that was exchanged, when the backend rejected the result. */
  readonly refused: Secret | undefined;
}

type Exchange = (caller: Identity, earlier: EarlierExchange | undefined) => Promise<ExchangeResult>;

interface Held {
  readonly principal: string;
  readonly tsid: string | undefined;
  readonly headers: CredentialHeaders;
  readonly stored: Secret | undefined;
  /** True when the backend rejected it. */
  readonly refused: boolean;
  /** ms since the epoch. The entry outlives the token: it shows that the subject could be exchanged. */
  readonly until: number;
}

const lifeMs = (expiresInSeconds = UNSTATED_LIFE_SECONDS + MARGIN_SECONDS): number =>
  1_000 * Math.max(expiresInSeconds - MARGIN_SECONDS, Math.min(MIN_LIFE_SECONDS, expiresInSeconds));

/**
 * Cache of exchanged tokens of one backend and configuration, by the user's own token, in this process only. An entry
 * serves only the user and the login that it was created for.
 */
export class TokenExchangeCache {
  readonly #now: () => number;
  readonly #held = new RecentlyUsed<Held>(MAX_ENTRIES);
  readonly #flights = new Flights<string, CredentialHeaders>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Returns synchronously on a hit. Concurrent misses share one `exchange`; a failure is not cached. */
  get(caller: Identity, exchange: Exchange): CredentialHeaders | Promise<CredentialHeaders> {
    const now = this.#now();
    const held = this.#heldFor(caller, now);
    if (held && !held.refused && now < held.until) return held.headers;
    const key = JSON.stringify([caller.principal, caller.tsid, caller.token.reveal()]);
    return this.#flights.run(key, () => {
      const earlier = held && { refused: held.refused ? held.stored : undefined };
      return this.#fly(caller, now, exchange, earlier);
    });
  }

  /** Removes the entry for the user's token if it holds the token that was sent; a newer one stays. */
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
