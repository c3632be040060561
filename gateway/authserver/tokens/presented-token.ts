import { errors, jwtVerify, type JWTPayload } from 'jose';
import { LOGIN_CLIENT_CLAIM, SUBJECT_ISSUER_CLAIM } from '../../contract/identity.ts';
import type { AuthServerContext } from '../context.ts';
import { ACCESS_TOKEN_TYPE, ID_TOKEN_TYPE } from '../core/token-endpoint/issued-claims.ts';
import { trusts } from '../trust/trusted-issuers.ts';
import { isGenuine } from '../core/opaque-token.ts';
import type { Family, LivenessRecord } from '../storage/records.ts';

/** Valid access token of this server. */
export interface LiveAccessToken {
  readonly claims: AccessTokenClaims;
  /** Undefined for a delegated token without a login. */
  readonly liveness: LivenessRecord | undefined;
}

type AccessTokenClaims = JWTPayload & {
  readonly sub: string;
  readonly aud: string;
  readonly exp: number;
  readonly client_id: string;
  readonly tsid?: string;
  readonly scope?: string;
  /** Only in a delegated token. */
  readonly [LOGIN_CLIENT_CLAIM]?: string;
  /** Only in a delegated token without a login. */
  readonly [SUBJECT_ISSUER_CLAIM]?: string;
};

export const isDelegated = (claims: AccessTokenClaims): boolean =>
  claims[LOGIN_CLIENT_CLAIM] !== undefined || claims[SUBJECT_ISSUER_CLAIM] !== undefined;

type Needs = Pick<AuthServerContext, 'settings' | 'store' | 'keys' | 'secrets' | 'now'>;

const MAX_TOKEN_CHARS = 16 * 1024;

/**
 * Returns undefined for a foreign or expired token, and for a token of an ended login. Rejects with `StoreUnavailable`.
 * @see RFC 9068 §4
 */
export async function liveAccessToken(context: Needs, token: string): Promise<LiveAccessToken | undefined> {
  const claims = await verifiedClaims(context, token, ACCESS_TOKEN_TYPE, {
    audience: [...context.settings.audiences],
    currentDate: new Date(context.now()),
  });
  if (!isAccessToken(claims)) return undefined;
  const { tsid, [SUBJECT_ISSUER_CLAIM]: issuer } = claims;
  if (tsid === undefined) return trusts(context.settings, issuer) ? { claims, liveness: undefined } : undefined;
  const liveness = await context.store.live.get(tsid);
  const loginClient = claims[LOGIN_CLIENT_CLAIM] ?? claims.client_id;
  const fits = liveness?.userId === claims.sub && liveness.clientId === loginClient;
  return fits ? { claims, liveness } : undefined;
}

const isAccessToken = (claims: JWTPayload | undefined): claims is AccessTokenClaims =>
  claims !== undefined &&
  ['sub', 'aud', 'client_id'].every((name) => typeof claims[name] === 'string') &&
  ['tsid', 'scope', LOGIN_CLIENT_CLAIM, SUBJECT_ISSUER_CLAIM].every((name) =>
    ['string', 'undefined'].includes(typeof claims[name]),
  );

export interface IdTokenHint {
  readonly clientId: string;
  readonly userId: string;
  readonly familyId: string;
}

/** Reads the login from an ID token of this server, expired or not. @see OpenID Connect RP-Initiated Logout §4 */
export async function readIdTokenHint(context: Needs, token: string): Promise<IdTokenHint | undefined> {
  const claims = await verifiedClaims(context, token, ID_TOKEN_TYPE, { currentDate: new Date(0) });
  const { aud: clientId, sub: userId, sid: familyId } = claims ?? {};
  const complete = typeof clientId === 'string' && typeof userId === 'string' && typeof familyId === 'string';
  return complete ? { clientId, userId, familyId } : undefined;
}

/** Finds the family of a refresh token. `current` is false for a used token. A text with a wrong tag never reaches the store. */
export async function familyOfRefreshToken(
  { store, secrets }: Needs,
  token: string,
): Promise<{ readonly family: Family; readonly current: boolean } | undefined> {
  return isGenuine('refresh', token, secrets()) ? store.families.find(token) : undefined;
}

interface VerifyOptions {
  readonly audience?: string[];
  readonly currentDate: Date;
}

/** Returns the claims of a JWT that this server has signed, or undefined. */
async function verifiedClaims(
  { keys, settings }: Pick<Needs, 'keys' | 'settings'>,
  token: string,
  typ: string,
  options: VerifyOptions,
): Promise<JWTPayload | undefined> {
  if (token.length > MAX_TOKEN_CHARS) return undefined;
  const { find, kids } = keys.latest;
  try {
    const { payload, protectedHeader } = await jwtVerify(token, find, {
      ...options,
      issuer: settings.urls.issuer,
      typ,
      algorithms: [...keys.algorithms()],
      requiredClaims: ['exp', 'iat', 'sub'],
    });
    return kids.has(protectedHeader.kid ?? '') ? payload : undefined;
  } catch (error) {
    if (error instanceof errors.JOSEError) return undefined;
    throw error;
  }
}
