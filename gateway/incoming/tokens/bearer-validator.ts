import type { Identity } from '../../contract/identity.ts';
import type { ClaimRules } from './claims.ts';
import { classify } from './classify.ts';
import { ExpiringCache } from './expiring-cache.ts';
import type { Introspection } from './introspection.ts';
import { verifyJwt, type HeaderRules, type VerifiedJwt } from './jwt.ts';
import type { KeySet, KeySource } from '../keys/key-set.ts';
import { TokenRefused } from '../refusal.ts';
import type { IssuerValidator, Liveness, Readiness } from '../token-validator.ts';

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

/** Proof of a token that stays good until its end or until the keys change. */
interface Proof {
  readonly keySet: KeySet;
  /** ms since the epoch. */
  readonly goodUntil: number;
}

/** End of the signature: enough to tell tokens apart, and short, as hashing a whole token takes microseconds. */
const keyOf = (token: string): string => token.slice(-43);

/** JWTs by keys, opaque tokens by introspection; what it is decides alone, and neither ever stands in for the other. */
export class BearerValidator implements IssuerValidator {
  readonly #parts: BearerValidatorParts;
  readonly #verified = new ExpiringCache<Identity>();
  #keySet: KeySet | undefined;
  /** Of verified JWTs, for as long as somebody holds the identity. */
  readonly #proofs = new WeakMap<Identity, Proof>();

  constructor(parts: BearerValidatorParts) {
    this.#parts = parts;
  }

  validate(token: string): Identity | Promise<Identity> {
    const now = this.#parts.now();
    this.#forgetOldKeys();
    const known = this.#verified.get(keyOf(token), now);
    return known?.token.reveal() === token ? known : this.#validateAnew(token, now);
  }

  liveness(identity: Identity): Liveness {
    const { now, keys, introspection } = this.#parts;
    const proof = this.#proofs.get(identity);
    if (proof && proof.goodUntil <= now()) return false;
    if (proof && proof.keySet === keys.latest) return true;
    return introspection?.liveness(identity) ?? (() => this.#isGood(identity));
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
    const verified = (known: TokenRules): Promise<Identity> =>
      this.#remembered(token, verifyJwt(token, jwt, keys, known, now), known);
    const known = rules();
    return known instanceof Promise ? known.then(verified) : verified(known);
  }

  /** Rejects with `DependencyDown`. */
  async #isGood(identity: Identity): Promise<boolean> {
    try {
      const proof = this.#proofs.get(await this.validate(identity.token.reveal()));
      if (proof) this.#proofs.set(identity, proof);
      return true;
    } catch (error) {
      if (error instanceof TokenRefused) return false;
      throw error;
    }
  }

  /** Verified with keys that have gone since, a token is good for this request only. */
  async #remembered(
    token: string,
    verified: Promise<VerifiedJwt>,
    { clockSkewMs }: Pick<TokenRules, 'clockSkewMs'>,
  ): Promise<Identity> {
    const { identity, keySet } = await verified;
    this.#proofs.set(identity, { keySet, goodUntil: identity.expiresAt + clockSkewMs });
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
