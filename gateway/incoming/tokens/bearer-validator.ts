import type { IncomingMessage } from 'node:http';
import type { Identity } from '../../contract/identity.ts';
import { MAX_CACHED, type ClaimRules } from './claims.ts';
import { classify, isJwe } from './classify.ts';
import { ExpiringMap } from '../../kit/cache.ts';
import type { Introspection } from './introspection.ts';
import { verifyJwt, type HeaderRules, type VerifiedJwt } from './jwt.ts';
import type { KeySet, KeySource } from '../keys/key-set.ts';
import { TokenRefused } from '../refusal.ts';
import type { IssuerValidator, Liveness, Readiness } from '../token-validator.ts';

export type TokenRules = ClaimRules & HeaderRules;

interface BearerValidatorParts {
  readonly keys: KeySource;
  /** Rejects with `DependencyDown` while the issuer is unknown. */
  readonly rules: () => TokenRules | Promise<TokenRules>;
  /** Absent: opaque tokens are rejected. */
  readonly introspection?: Introspection | undefined;
  /** True: JWTs are introspected, too. */
  readonly introspectsAll?: boolean | undefined;
  readonly now: () => number;
  readonly issuer: () => string | undefined;
  readonly warmUp: () => void;
  readonly status: () => Readiness;
  readonly close: () => void;
}

const MAX_AGE_MS = 60_000;

/** Verified token, valid until it expires or the keys change. */
interface Proof {
  readonly keySet: KeySet;
  /** ms since the epoch. */
  readonly goodUntil: number;
}

/** Returns the end of the signature as cache key: it is unique, and hashing a whole token takes microseconds. */
const keyOf = (token: string): string => token.slice(-43);

/** Validates JWTs with keys and other tokens by introspection. The form of the token and the settings decide; there is no fallback. */
export class BearerValidator implements IssuerValidator {
  readonly #parts: BearerValidatorParts;
  readonly #verified: ExpiringMap<Identity>;
  #keySet: KeySet | undefined;
  /** Verified JWTs by identity, kept while the identity is referenced. */
  readonly #proofs = new WeakMap<Identity, Proof>();

  constructor(parts: BearerValidatorParts) {
    this.#parts = parts;
    this.#verified = new ExpiringMap(parts.now, undefined, MAX_CACHED);
  }

  validate(token: string, req?: IncomingMessage): Identity | Promise<Identity> {
    const now = this.#parts.now();
    this.#forgetOldKeys();
    const known = this.#verified.get(keyOf(token), now);
    return known?.token.reveal() === token ? known : this.#validateAnew(token, now, req);
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

  #validateAnew(token: string, now: number, req: IncomingMessage | undefined): Identity | Promise<Identity> {
    const { introspection, introspectsAll, keys, rules } = this.#parts;
    if (introspection && isJwe(token)) return introspection.inspect(token); // only its issuer can read it
    const parts = classify(token);
    if (introspection && (parts === undefined || introspectsAll === true)) return introspection.inspect(token);
    if (parts === undefined) throw new TokenRefused('opaque');
    const verified = (known: TokenRules): Promise<Identity> =>
      this.#remembered(token, verifyJwt({ token, parts }, keys, known, now, req), known);
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

  /** Accepts a token for this request only when its keys were replaced meanwhile. */
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
      this.#verified.set(keyOf(token), identity, Math.min(identity.expiresAt - now, MAX_AGE_MS), now);
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
