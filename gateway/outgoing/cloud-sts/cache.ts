import type { Identity } from '../../contract/identity.ts';
import { CredentialError, type CredentialHeaders } from '../authenticator.ts';
import { RecentlyUsed } from '../../kit/cache.ts';
import { Flights } from '../../kit/tasks.ts';

const MAX_ENTRIES = 10_000;
/** Time before expiry at which credentials are replaced: a signed request may run for minutes. */
const MARGIN_MS = 300_000;
/** Time for which a refusal is kept, so that calls do not repeat the same request. */
const REFUSAL_MS = 5_000;
/** Credentials younger than this are not replaced when the backend rejects them: new ones would not help. */
const YOUNG_MS = 60_000;

export interface SigningCredential {
  readonly headers: CredentialHeaders;
  /** ms since the epoch. */
  readonly expiresAt: number;
}

/** Owner of credentials: they serve one user, login and role. */
export interface CredentialOwner extends Pick<Identity, 'principal' | 'tsid'> {
  readonly role: string;
  readonly sessionName: string;
}

type Held =
  | { readonly headers: CredentialHeaders; readonly since: number; readonly until: number }
  | { readonly error: CredentialError; readonly until: number };

const keyOf = ({ principal, tsid, role, sessionName }: CredentialOwner): string =>
  JSON.stringify([principal, tsid ?? null, role, sessionName]);

/** Cache of the credentials of one backend and configuration, in this process only. Times are in ms. */
export class SigningCredentialCache {
  readonly #now: () => number;
  readonly #held = new RecentlyUsed<Held>(MAX_ENTRIES);
  readonly #flights = new Flights<string, CredentialHeaders>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Returns synchronously on a hit. Concurrent misses share one `obtain`. Throws a refusal that still applies. */
  get(
    owner: CredentialOwner,
    obtain: () => Promise<SigningCredential>,
  ): CredentialHeaders | Promise<CredentialHeaders> {
    const now = this.#now();
    const key = keyOf(owner);
    const held = this.#held.get(key, now);
    if (held && now < held.until) {
      if ('headers' in held) return held.headers;
      throw held.error;
    }
    return this.#flights.run(key, () => this.#fly(key, now, obtain));
  }

  /** Removes rejected credentials that are not new. Returns true when the next `get` returns other ones. */
  refuse(owner: CredentialOwner, sent: CredentialHeaders): boolean {
    const now = this.#now();
    const key = keyOf(owner);
    const held = this.#held.get(key, now);
    if (!held || !('headers' in held)) return false;
    if (held.headers !== sent) return true;
    if (now - held.since < YOUNG_MS) return false;
    this.#held.delete(key);
    return true;
  }

  async #fly(key: string, since: number, obtain: () => Promise<SigningCredential>): Promise<CredentialHeaders> {
    try {
      const { headers, expiresAt } = await obtain();
      const left = expiresAt - since;
      const until = since + Math.max(left - MARGIN_MS, left / 2);
      this.#held.set(key, { headers, since, until }, this.#now());
      return headers;
    } catch (error) {
      // after a login the same owner has another token
      if (error instanceof CredentialError && error.fault !== 'reauthenticate')
        this.#held.set(key, { error, until: this.#now() + REFUSAL_MS }, this.#now());
      throw error;
    }
  }
}
