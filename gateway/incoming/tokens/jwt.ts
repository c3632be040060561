import { compactVerify, errors, type CryptoKey } from 'jose';
import type { Identity } from '../../contract/identity.ts';
import { identify, type ClaimRules } from './claims.ts';
import { decodeObject, type JwtParts } from './classify.ts';
import type { KeySet, KeySource } from '../keys/key-set.ts';
import { TokenRefused, type RefusalReason } from '../refusal.ts';
import type { JsonObject } from '../../contract/json.ts';

/** Of signatures that are believed: asymmetric ones only. @see RFC 8725 §3.1 */
export const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];

/** JWTs that are made to be shown to somebody else than a resource server. */
const FOREIGN_TYPES = ['logout+jwt', 'dpop+jwt', 'secevent+jwt', 'oauth-id-jag+jwt'];

const MAX_KID_LENGTH = 1024;

export interface HeaderRules {
  /** Else a token may go without where the key set has exactly one key that fits. */
  readonly requireKid: boolean;
  /** The only `typ`; when undefined every one but those of other purposes. */
  readonly type?: string | undefined;
}

export interface VerifiedJwt {
  readonly identity: Identity;
  /** In which the key was found. */
  readonly keySet: KeySet;
}

/**
 * Verifies a JWT with the keys of its issuer. What needs no key is checked first, so that junk costs no request for keys.
 * Header members that bring or name keys (`jwk`, `jku`, `x5c`, `x5u`) are never looked at. Throws or rejects with
 * `TokenRefused` or `DependencyDown`. @see RFC 7515 §4, RFC 8725 §3
 */
export function verifyJwt(
  token: string,
  { header, payload }: JwtParts,
  keys: KeySource,
  rules: ClaimRules & HeaderRules,
  now: number,
): Promise<VerifiedJwt> {
  checkHeader(header, rules);
  const claims = decodeObject(payload);
  if (claims === undefined) throw new TokenRefused('malformed');
  const identity = identify(claims, token, rules, now);
  return verifySignature(token, header, keys).then((keySet) => ({ identity, keySet }));
}

function checkHeader(header: JwtParts['header'], { requireKid, type }: HeaderRules): void {
  if (!ALGORITHMS.includes(header.alg)) throw new TokenRefused('algorithm');
  if (header['crit'] !== undefined) throw new TokenRefused('critical_header'); // none is understood here
  const kid = header['kid'];
  if (kid === undefined ? requireKid : typeof kid !== 'string' || kid.length > MAX_KID_LENGTH)
    throw new TokenRefused('kid');
  checkType(header['typ'], type);
}

function checkType(typ: unknown, required: string | undefined): void {
  if (typ !== undefined && typeof typ !== 'string') throw new TokenRefused('malformed');
  const type = typ?.toLowerCase().replace(/^application\//, ''); // RFC 7515 §4.1.9
  if (required === undefined ? FOREIGN_TYPES.includes(type ?? '') : type !== required)
    throw new TokenRefused('token_type');
}

/** The set in which the key was found. Rejects with `TokenRefused` and with what `keys` rejects with. */
export async function verifySignature(
  token: string,
  header: JsonObject,
  keys: Pick<KeySource, 'current' | 'renew'>,
): Promise<KeySet> {
  const set = await keys.current();
  const refusal = await attempt(token, header, set);
  if (refusal === undefined) return set;
  if (!mayBeNewer(header, set, refusal)) throw new TokenRefused(refusal);
  const renewed = await keys.renew(set);
  const second = renewed === set ? refusal : await attempt(token, header, renewed);
  if (second !== undefined) throw new TokenRefused(second);
  return renewed;
}

/** A key that is not there, or a key without name that does not fit, may have come after this set was fetched. */
function mayBeNewer({ kid }: JsonObject, set: KeySet, refusal: RefusalReason): boolean {
  return typeof kid === 'string' ? !set.kids.has(kid) : refusal === 'kid' || refusal === 'signature';
}

/** Undefined: the signature is good. */
async function attempt(token: string, header: JsonObject, { find }: KeySet): Promise<RefusalReason | undefined> {
  try {
    await compactVerify(token, find, { algorithms: ALGORITHMS });
    return undefined;
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) return refusalOf(error);
    return header['kid'] === undefined ? 'kid' : attemptEach(token, error);
  }
}

/** Several keys under one `kid`: any of them. */
async function attemptEach(token: string, keys: AsyncIterable<CryptoKey>): Promise<RefusalReason | undefined> {
  for await (const key of keys) {
    try {
      await compactVerify(token, key, { algorithms: ALGORITHMS });
      return undefined;
    } catch (error) {
      refusalOf(error);
    }
  }
  return 'signature';
}

/** What jose has against a token. Other errors are faults of ours and pass. */
function refusalOf(error: unknown): RefusalReason {
  if (error instanceof errors.JWKSNoMatchingKey) return 'kid';
  if (error instanceof errors.JOSEAlgNotAllowed || error instanceof errors.JOSENotSupported) return 'algorithm';
  if (error instanceof errors.JWSInvalid) return 'malformed';
  if (error instanceof errors.JOSEError) return 'signature';
  throw error;
}
