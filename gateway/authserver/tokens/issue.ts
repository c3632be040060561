import type { AuthServerContext } from '../context.ts';
import {
  ACCESS_TOKEN_TYPE,
  accessTokenClaims,
  ID_TOKEN_TYPE,
  idTokenClaims,
  type Grant,
} from '../core/token-endpoint/issued-claims.ts';
import { delegatedClaims, type DelegatedGrant } from '../core/token-endpoint/delegated-access.ts';
import { issueToken } from '../core/opaque-token.ts';
import { formatScope } from '../core/scope.ts';

/** Body of a successful token response. Never cached, never logged. @see RFC 6749 §5.1, OpenID Connect Core §3.1.3.3 */
export interface TokenReply {
  readonly access_token: string;
  readonly token_type: 'Bearer';
  readonly expires_in: number;
  readonly scope: string;
  readonly refresh_token?: string;
  readonly id_token?: string;
  /** Only in the reply to a token exchange. @see RFC 8693 §2.2.1 */
  readonly issued_token_type?: string;
}

export interface TokenSubject extends Grant {
  readonly familyId: string;
  /** OpenID Connect `nonce` of the authorization request. */
  readonly nonce?: string | undefined;
}

const JTI_BYTES = 16;
const REFRESH_BYTES = 32;

export const newRefreshToken = ({ random, secrets }: Pick<AuthServerContext, 'random' | 'secrets'>): string =>
  issueToken('refresh', random(REFRESH_BYTES), secrets()).reveal();

/** Signs the tokens of a response. They are invalid until the store holds the family. */
export async function signTokens(
  { settings, keys, now, random }: Pick<AuthServerContext, 'settings' | 'keys' | 'now' | 'random'>,
  subject: TokenSubject,
): Promise<TokenReply> {
  const { urls, lifespans } = settings;
  const issuance = { issuer: urls.issuer, now: now(), lifespanSeconds: lifespans.accessToken };
  const signer = keys.signer();
  const jti = random(JTI_BYTES).toString('base64url');
  const accessToken = await signer.sign(ACCESS_TOKEN_TYPE, accessTokenClaims(subject, issuance, jti));
  const binding = { nonce: subject.nonce, sessionId: subject.familyId, accessToken, alg: signer.alg };
  return {
    access_token: accessToken,
    token_type: 'Bearer',
    expires_in: lifespans.accessToken,
    scope: formatScope(subject.scopes),
    ...(subject.scopes.includes('openid') && {
      id_token: await signer.sign(ID_TOKEN_TYPE, idTokenClaims(subject, issuance, binding)),
    }),
  };
}

/** Signs the access token of a reply without a refresh token and an ID token. */
export async function signDelegated(
  { settings, keys, now, random }: Pick<AuthServerContext, 'settings' | 'keys' | 'now' | 'random'>,
  grant: DelegatedGrant,
  lifespanSeconds: number,
): Promise<TokenReply> {
  const issuance = { issuer: settings.urls.issuer, now: now(), lifespanSeconds };
  const claims = delegatedClaims(grant, issuance, random(JTI_BYTES).toString('base64url'));
  return {
    access_token: await keys.signer().sign(ACCESS_TOKEN_TYPE, claims),
    token_type: 'Bearer',
    expires_in: lifespanSeconds,
    scope: formatScope(grant.scopes),
  };
}
