import type { IncomingMessage } from 'node:http';
import type { AuthServerContext } from '../context.ts';
import {
  ACCESS_TOKEN_TYPE,
  accessTokenClaims,
  ID_TOKEN_TYPE,
  idTokenClaims,
  type LoginGrant,
} from '../core/token-endpoint/issued-claims.ts';
import { delegatedClaims, type DelegatedGrant } from '../core/token-endpoint/delegated-access.ts';
import { issueToken } from '../core/opaque-token.ts';
import { formatScope } from '../core/scope.ts';
import type { Client, Family } from '../storage/records.ts';
import type { RequestParameters } from '../core/request-parameters.ts';
import type { AuthServerSettings } from '../settings.ts';
import type { FamilySpans } from '../storage/store.ts';

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

interface TokenSubject extends LoginGrant {
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

interface GrantRequest<GrantClient = Client> {
  /** The authenticated client, which is registered for this grant type. */
  readonly client: GrantClient;
  readonly form: RequestParameters;
  readonly req: IncomingMessage;
}

/** Issues tokens for one grant type. Throws `Refused`. */
export type GrantHandler<GrantClient = Client> = (
  context: AuthServerContext,
  request: GrantRequest<GrantClient>,
) => Promise<TokenReply>;

/** Clock skew that verifiers may allow. Tokens are valid for so much longer. */
const MAX_SKEW_MS = 300_000;

export const mayRefresh = ({ metadata }: Client): boolean => metadata.grant_types.includes('refresh_token');

/** Returns the remaining lifetimes of the records of a login. */
export function familySpans({ lifespans, refreshGraceMs }: AuthServerSettings, refreshable: boolean): FamilySpans {
  // A replay within the grace window issues an access token too, and does not extend the liveness record.
  const liveMs = lifespans.accessToken * 1_000 + refreshGraceMs + MAX_SKEW_MS;
  return { idleMs: refreshable ? lifespans.refreshToken * 1_000 : liveMs, liveMs };
}

/** Returns the lifetime of the upstream tokens, which may be needed until the last access token of the family expires. */
export const upstreamTtlMs = ({ expiresAt }: Family, { idleMs, liveMs }: FamilySpans, now: number): number =>
  Math.min(idleMs, expiresAt - now) + liveMs;
