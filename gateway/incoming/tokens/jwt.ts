import type { IncomingMessage } from 'node:http';
import { compactVerify, errors, type CryptoKey } from 'jose';
import type { Identity } from '../../contract/identity.ts';
import { checkType, readIdentity, refuseIdToken, type ClaimRules } from './claims.ts';
import { decodeObject, type JwtParts } from './classify.ts';
import type { KeySet, KeySource } from '../keys/key-set.ts';
import { TokenRefused, type TokenRefusalReason } from '../refusal.ts';
import type { JsonObject } from '../../contract/json.ts';

/** Accepted signature algorithms: asymmetric only. @see RFC 8725 §3.1 */
export const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];

const MAX_KID_LENGTH = 1024;

export interface HeaderRules {
  /** False: a token may omit `kid` when exactly one key matches. */
  readonly requireKid: boolean;
  /** The only accepted `typ`; undefined accepts JWTs without a purpose, too. */
  readonly type?: string | undefined;
}

export interface VerifiedJwt {
  readonly identity: Identity;
  /** Key set that contains the key. */
  readonly keySet: KeySet;
}

/**
 * Verifies a JWT with the keys of its issuer. Checks that need no key come first, so that invalid tokens cause no fetch.
 * Ignores header members that contain or name keys (`jwk`, `jku`, `x5c`, `x5u`). Throws or rejects with
 * `TokenRefused` or `DependencyDown`. @see RFC 7515 §4, RFC 8725 §3
 */
export function verifyJwt(
  { token, parts: { header, payload } }: { readonly token: string; readonly parts: JwtParts },
  keys: KeySource,
  rules: ClaimRules & HeaderRules,
  now: number,
  req?: IncomingMessage,
): Promise<VerifiedJwt> {
  checkHeader(header, rules);
  const claims = decodeObject(payload);
  if (claims === undefined) throw new TokenRefused('malformed');
  const identity = readIdentity(claims, token, rules, now);
  refuseIdToken(claims, header['typ']);
  return verifySignature(token, header, keys, req).then((keySet) => ({ identity, keySet }));
}

function checkHeader(header: JwtParts['header'], { requireKid, type }: HeaderRules): void {
  if (!ALGORITHMS.includes(header.alg)) throw new TokenRefused('algorithm');
  if (header['crit'] !== undefined) throw new TokenRefused('critical_header'); // no extension is supported
  const kid = header['kid'];
  if (kid === undefined ? requireKid : typeof kid !== 'string' || kid.length > MAX_KID_LENGTH)
    throw new TokenRefused('kid');
  checkType(header['typ'], type);
}

/** Returns the set that contains the key. Rejects with `TokenRefused`, or like `keys`. */
export async function verifySignature(
  token: string,
  header: JsonObject,
  keys: Pick<KeySource, 'current' | 'renew'>,
  req?: IncomingMessage,
): Promise<KeySet> {
  const set = await keys.current();
  const refusal = await attempt(token, header, set);
  if (refusal === undefined) return set;
  if (!mayBeNewer(header, set, refusal)) throw new TokenRefused(refusal);
  const renewed = await keys.renew(set, req);
  const second = renewed === set ? refusal : await attempt(token, header, renewed);
  if (second !== undefined) throw new TokenRefused(second);
  return renewed;
}

/** Returns true when a newer set may verify the token: its key is missing, or it names no key. */
function mayBeNewer({ kid }: JsonObject, set: KeySet, refusal: TokenRefusalReason): boolean {
  return typeof kid === 'string' ? !set.kids.has(kid) : refusal === 'kid' || refusal === 'signature';
}

/** Verifies the signature. Returns undefined when it is valid. */
async function attempt(token: string, header: JsonObject, { find }: KeySet): Promise<TokenRefusalReason | undefined> {
  try {
    await compactVerify(token, find, { algorithms: ALGORITHMS });
    return undefined;
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) return refusalOf(error);
    return header['kid'] === undefined ? 'kid' : attemptEach(token, error);
  }
}

/** Tries each of several keys with one `kid`. */
async function attemptEach(token: string, keys: AsyncIterable<CryptoKey>): Promise<TokenRefusalReason | undefined> {
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

/** Returns the reason for an error of jose. Rethrows other errors. */
function refusalOf(error: unknown): TokenRefusalReason {
  if (error instanceof errors.JWKSNoMatchingKey) return 'kid';
  if (error instanceof errors.JOSEAlgNotAllowed || error instanceof errors.JOSENotSupported) return 'algorithm';
  if (error instanceof errors.JWSInvalid) return 'malformed';
  if (error instanceof errors.JOSEError) return 'signature';
  throw error;
}
