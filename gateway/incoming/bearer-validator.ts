import type { Identity } from '../contract/identity.ts';
import type { ClaimRules } from './claims.ts';
import { classify } from './classify.ts';
import { ExpiringCache } from './expiring-cache.ts';
import type { Introspection } from './introspection.ts';
import { verifyJwt, type HeaderRules, type VerifiedJwt } from './jwt.ts';
import type { KeySet, KeySource } from './key-set.ts';
import { TokenRefused } from './refusal.ts';
import type { IssuerValidator, Readiness } from './token-validator.ts';

export type TokenRules = ClaimRules & HeaderRules;

export interface BearerValidatorParts {
  readonly keys: KeySource;
  /** Rejects with `DependencyDown` where the issuer has to be found out. */
  readonly rules: () => TokenRules | Promise<TokenRules>;
  /** Absent: opaque tokens are refused. */
  readonly introspection?: Introspection | undefined;
  readonly now: () => number;
  readonly issuer: () => string | undefined;
  readonly warmUp: () => void;
  readonly status: () => Readiness;
  readonly close: () => void;
}

const MAX_AGE_MS = 60_000;

/** End of the signature: enough to tell tokens apart, and short, as hashing a whole token takes microseconds. */
const keyOf = (token: string): string => token.slice(-43);

/** JWTs by keys, opaque tokens by introspection; what it is decides alone, and neither ever stands in for the other. */
export class BearerValidator implements IssuerValidator {
  readonly #parts: BearerValidatorParts;
  readonly #verified = new ExpiringCache<Identity>();
  #keySet: KeySet | undefined;

  constructor(parts: BearerValidatorParts) {
    this.#parts = parts;
  }

  validate(token: string): Identity | Promise<Identity> {
    const now = this.#parts.now();
    this.#forgetOldKeys();
    const known = this.#verified.get(keyOf(token), now);
    return known?.token.reveal() === token ? known : this.#validateAnew(token, now);
  }

  warmUp(): void {
    this.#parts.warmUp();
  }

  status(): Readiness {
    return this.#parts.status();
  }

  issuer(): string | undefined {
    return this.#parts.issuer();
  }

  close(): void {
    this.#parts.close();
    this.#verified.clear();
  }

  #validateAnew(token: string, now: number): Identity | Promise<Identity> {
    const jwt = classify(token);
    const { introspection, keys, rules } = this.#parts;
    if (jwt === undefined) {
      if (!introspection) throw new TokenRefused('opaque');
      return introspection.inspect(token);
    }
    const known = rules();
    const verified =
      known instanceof Promise
        ? known.then((found) => verifyJwt(token, jwt, keys, found, now))
        : verifyJwt(token, jwt, keys, known, now);
    return this.#remembered(token, verified);
  }

  /** Verified with keys that have gone since, a token is good for this request only. */
  async #remembered(token: string, verified: Promise<VerifiedJwt>): Promise<Identity> {
    const { identity, keySet } = await verified;
    this.#forgetOldKeys();
    if (keySet === this.#keySet) {
      const now = this.#parts.now();
      this.#verified.set(keyOf(token), identity, Math.min(identity.expiresAt, now + MAX_AGE_MS), now);
    }
    return identity;
  }

  #forgetOldKeys(): void {
    const { latest } = this.#parts.keys;
    if (latest === this.#keySet) return;
    this.#keySet = latest;
    this.#verified.clear();
  }
}
