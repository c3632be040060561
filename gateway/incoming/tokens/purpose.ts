import { TokenRefused } from '../refusal.ts';
import type { JsonObject } from '../../contract/json.ts';

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
export function checkPurpose(claims: JsonObject): void {
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
