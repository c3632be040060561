import { hash } from 'node:crypto';
import { formatScope } from '../scope.ts';

/** Access that a login grants to a client. */
export interface LoginGrant {
  readonly clientId: string;
  /** Configured spelling of the audience. */
  readonly resource: string;
  readonly scopes: readonly string[];
  /** Identifier of the login, under which its upstream tokens are stored. */
  readonly tsid: string;
  readonly login: {
    readonly userId: string;
    /** ms since the epoch. */
    readonly authTime: number;
    /** Name as the identity provider returned it at login. */
    readonly name?: string | undefined;
    readonly email?: string | undefined;
  };
}

export interface Issuance {
  readonly issuer: string;
  /** ms since the epoch. */
  readonly now: number;
  readonly lifespanSeconds: number;
}

export const ACCESS_TOKEN_TYPE = 'at+jwt';
export const ID_TOKEN_TYPE = 'JWT';

/** Returns the claims of an access token. `jti`: 128 random bits. @see RFC 9068 §2.2 */
export const accessTokenClaims = (grant: LoginGrant, issuance: Issuance, jti: string) => ({
  ...registeredClaims(grant, issuance),
  aud: grant.resource,
  jti,
  client_id: grant.clientId,
  ...(grant.scopes.length > 0 && { scope: formatScope(grant.scopes) }),
  tsid: grant.tsid,
});

interface IdTokenBinding {
  readonly nonce?: string | undefined;
  /** Id of the token family, by which a logout finds the login. @see OpenID Connect Front-Channel Logout §3 */
  readonly sessionId: string;
  /** Access token of the same response. */
  readonly accessToken: string;
  /** Signature algorithm, which also determines the hash. */
  readonly alg: string;
}

/** Returns the claims of an ID token. @see OpenID Connect Core §2 */
export const idTokenClaims = (
  grant: LoginGrant,
  issuance: Issuance,
  { nonce, sessionId, accessToken, alg }: IdTokenBinding,
) => ({
  ...registeredClaims(grant, issuance),
  aud: grant.clientId,
  sid: sessionId,
  at_hash: tokenHash(accessToken, alg),
  ...(nonce !== undefined && { nonce }),
});

/** Returns the response of the userinfo endpoint. @see OpenID Connect Core §5.3.2 */
export const userinfoClaims = (grant: Pick<LoginGrant, 'scopes' | 'login'>) => ({
  sub: grant.login.userId,
  ...profileClaims(grant),
});

function registeredClaims(grant: LoginGrant, { issuer, now, lifespanSeconds }: Issuance) {
  const iat = seconds(now);
  return {
    iss: issuer,
    sub: grant.login.userId,
    exp: iat + lifespanSeconds,
    iat,
    auth_time: seconds(grant.login.authTime),
    ...profileClaims(grant),
  };
}

const seconds = (ms: number): number => Math.floor(ms / 1_000);

/** Returns the claims about the user that the scopes allow. */
export function profileClaims({
  scopes,
  login: { name, email },
}: Pick<LoginGrant, 'scopes'> & { readonly login: Pick<LoginGrant['login'], 'name' | 'email'> }) {
  return {
    ...(name !== undefined && scopes.includes('profile') && { name }),
    ...(email !== undefined && scopes.includes('email') && { email }),
  };
}

/** Returns the left half of the hash that belongs to the algorithm. @see OpenID Connect Core §3.1.3.6 */
function tokenHash(token: string, alg: string): string {
  const size = alg === 'EdDSA' ? 512 : Number(alg.slice(2));
  const digest = hash(`sha${size}`, token, 'buffer');
  return digest.subarray(0, digest.length / 2).toString('base64url');
}
