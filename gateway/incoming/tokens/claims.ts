import { principalOfPair, Secret, type Identity } from '../../contract/identity.ts';
import { TokenRefused } from '../refusal.ts';
import type { JsonObject } from '../../contract/json.ts';

/** Requirements for the claims of every accepted token. */
export interface ClaimRules {
  /** Compared exactly, without normalising slashes, spaces or case. */
  readonly issuer: string;
  readonly audience: string;
  readonly clientId?: string | undefined;
  /** Rejects tokens of other clients and tokens without a client. */
  readonly requireClientId: boolean;
  readonly clockSkewMs: number;
  /** Accepts tokens without an audience. */
  readonly audienceMayBeMissing?: boolean | undefined;
  /** `sub` when absent. */
  readonly subjectClaim?: string | undefined;
  /** Further condition. Throws `TokenRefused`. */
  readonly accept?: ((claims: JsonObject) => void) | undefined;
}

/** Most results about tokens in one cache. They live about equally long, so that the oldest is the next to expire. */
export const MAX_CACHED = 10_000;

const MAX_SUBJECT_BYTES = 255;

/**
 * Returns the identity in the claims. The claims may be unverified: do not use the
 * identity before the signature is verified. Throws `TokenRefused`. `now` in ms since the epoch.
 */
export function readIdentity(claims: JsonObject, token: string, rules: ClaimRules, now: number): Identity {
  if (claims['iss'] !== rules.issuer) throw new TokenRefused('issuer');
  checkPurpose(claims);
  checkAudience(claims, rules);
  const expiresAt = checkTimes(claims, rules.clockSkewMs, now);
  checkBinding(claims);
  const clientId = clientOf(claims, rules);
  const subject = subjectOf(claims, rules);
  rules.accept?.(claims);
  const { tsid, ...others } = claims;
  return {
    principal: principalOfPair(rules.issuer, subject),
    issuer: rules.issuer,
    subject,
    clientId,
    scopes: scopesOf(claims),
    claims: others,
    token: new Secret(token),
    expiresAt,
    tsid: typeof tsid === 'string' ? tsid : undefined,
  };
}

function checkAudience({ aud }: JsonObject, { audience, audienceMayBeMissing }: ClaimRules): void {
  const audiences: unknown[] = Array.isArray(aud) ? aud : aud === undefined ? [] : [aud];
  if (audienceMayBeMissing === true && audiences.length === 0) return;
  if (!audiences.includes(audience)) throw new TokenRefused('audience', audiences);
}

/** Returns a NumericDate in ms; undefined when absent. @see RFC 7519 §2 */
function time(claims: JsonObject, name: 'exp' | 'nbf' | 'iat'): number | undefined {
  const value = claims[name];
  if (value === undefined) return undefined;
  if (typeof value !== 'number' || !Number.isFinite(value)) throw new TokenRefused('malformed');
  return value * 1000;
}

/** Returns the expiry of the token. Throws `TokenRefused` outside of its lifetime. */
function checkTimes(claims: JsonObject, skewMs: number, now: number): number {
  const expiresAt = time(claims, 'exp');
  if (expiresAt === undefined || expiresAt + skewMs <= now) throw new TokenRefused('expired');
  const starts = [time(claims, 'nbf'), time(claims, 'iat')];
  if (starts.some((start) => start !== undefined && start - skewMs > now)) throw new TokenRefused('not_yet_valid');
  return expiresAt;
}

/** Rejects a sender-constrained token, which is not a bearer token. @see RFC 9449 §7.2, RFC 8705 §3 */
function checkBinding(claims: JsonObject): void {
  const confirmation = claims['cnf'];
  if (confirmation === undefined) return;
  if (typeof confirmation !== 'object' || confirmation === null) throw new TokenRefused('malformed');
  if ('jkt' in confirmation || 'x5t#S256' in confirmation) throw new TokenRefused('sender_constrained');
}

function clientOf(claims: JsonObject, { clientId, requireClientId }: ClaimRules): string | undefined {
  const client = claims['client_id'] ?? claims['azp'];
  if (client !== undefined && typeof client !== 'string') throw new TokenRefused('malformed');
  if (requireClientId && client !== clientId) throw new TokenRefused('client');
  return client;
}

function subjectOf(claims: JsonObject, { subjectClaim = 'sub' }: ClaimRules): string {
  const subject = claims[subjectClaim];
  if (typeof subject !== 'string' || subject === '' || Buffer.byteLength(subject) > MAX_SUBJECT_BYTES)
    throw new TokenRefused('subject');
  return subject;
}

/** Reads `scope` (RFC 8693), or `scp` of other issuers. */
function scopesOf(claims: JsonObject): ReadonlySet<string> {
  const granted = claims['scope'] ?? claims['scp'];
  const list: unknown[] = typeof granted === 'string' ? granted.split(' ') : Array.isArray(granted) ? granted : [];
  return new Set(list.filter((scope): scope is string => typeof scope === 'string' && scope !== ''));
}

/** Claims in which a token names its own kind: `typ` at Keycloak, `token_use` at Cognito, Dex and Hydra. */
const NAMING_CLAIMS = ['typ', 'token_use', 'token_type'] as const;

/** Kinds of access tokens, in lower case. */
const ACCESS_KINDS: ReadonlySet<string> = new Set(['bearer', 'access', 'access_token', 'at+jwt', 'jwt']);

/** Types of JOSE headers that name no other purpose than access. @see RFC 9068 §2.1, RFC 7519 §5.1 */
const ACCESS_TYPES: ReadonlySet<string> = new Set(['at+jwt', 'jwt', 'jws', 'jose', 'bearer']);

/** Hashes that only an ID token has. @see OpenID Connect Core §3.3.2.11, FAPI 1.0 part 2 §5.1 */
const HASHES_OF_ID_TOKENS = ['c_hash', 's_hash'] as const;

/** Returns the type of a JOSE header without the prefix that it may omit. @see RFC 7515 §4.1.9 */
function typeOf(typ: unknown): string | undefined {
  if (typ !== undefined && typeof typ !== 'string') throw new TokenRefused('malformed');
  return typ?.toLowerCase().replace(/^application\//, '');
}

/** Throws `TokenRefused` for a type of another purpose. If `required` is set, only this type is accepted. */
export function checkType(typ: unknown, required: string | undefined): void {
  const type = typeOf(typ);
  const isAccepted = required === undefined ? type === undefined || ACCESS_TYPES.has(type) : type === required;
  if (!isAccepted) throw new TokenRefused('token_type');
}

/** Throws `TokenRefused` for claims, or an introspection reply, that name anything but an access token. */
function checkPurpose(claims: JsonObject): void {
  for (const name of NAMING_CLAIMS) {
    const kind = claims[name];
    if (kind === undefined) continue;
    if (typeof kind !== 'string') throw new TokenRefused('malformed');
    if (!ACCESS_KINDS.has(kind.toLowerCase())) throw new TokenRefused(/^id/iu.test(kind) ? 'id_token' : 'token_type');
  }
  if (HASHES_OF_ID_TOKENS.some((name) => claims[name] !== undefined)) throw new TokenRefused('id_token');
}

/**
 * Throws `TokenRefused` for an ID token that does not name its kind. A token that names itself an access token or has a scope is
 * none. A `nonce` is from a login. `at_hash` alone decides nothing without a `typ` header: access tokens of Dex have both claims.
 */
export function refuseIdToken(claims: JsonObject, typ: unknown): void {
  const type = typeOf(typ);
  if (type === 'at+jwt' || NAMING_CLAIMS.some((name) => claims[name] !== undefined)) return;
  if (claims['scope'] !== undefined || claims['scp'] !== undefined) return;
  const hashesAccessToken = claims['at_hash'] !== undefined;
  const isIdToken = hashesAccessToken ? type !== undefined : claims['nonce'] !== undefined;
  if (isIdToken) throw new TokenRefused('id_token');
}
