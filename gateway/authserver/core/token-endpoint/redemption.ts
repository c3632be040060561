import { checkVerifier } from '../pkce.ts';
import { accepted, refused, type Checked, type RefusalReason } from '../refusal.ts';
import { checkSameResource } from '../resource.ts';
import { narrowedScopes } from '../scope.ts';

/** Facts stored with a code. */
export interface CodeBinding {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly codeChallenge: string;
  /** Configured spelling of the audience. */
  readonly resource: string;
  /** ms since the epoch. */
  readonly expiresAt: number;
}

export interface Redemption {
  readonly clientId: string;
  /** The client has only one redirect URI, so that it may leave `redirect_uri` out. */
  readonly hasOneRedirectUri: boolean;
  readonly redirectUri: string | undefined;
  readonly codeVerifier: string | undefined;
  readonly resources: readonly string[];
}

type Rule = (code: CodeBinding, redemption: Redemption, now: number) => RefusalReason | undefined;

const lifetime: Rule = ({ expiresAt }, _redemption, now) => (now < expiresAt ? undefined : 'code_expired');

const client: Rule = (code, { clientId }) => (code.clientId === clientId ? undefined : 'code_client');

/** Compares the exact text: on loopback, too, the port must be that of the authorization request. */
const redirectUri: Rule = (code, { redirectUri: repeated, hasOneRedirectUri }) => {
  if (repeated === undefined) return hasOneRedirectUri ? undefined : 'code_redirect_uri';
  return repeated === code.redirectUri ? undefined : 'code_redirect_uri';
};

const verifier: Rule = ({ codeChallenge }, { codeVerifier }) => reasonOf(checkVerifier(codeChallenge, codeVerifier));

const resource: Rule = (code, { resources }) => reasonOf(checkSameResource(resources, code.resource));

/** The order of the rules. @see RFC 6749 §4.1.3, RFC 7636 §4.6, RFC 8707 §2.2 */
const RULES: readonly Rule[] = [lifetime, client, redirectUri, verifier, resource];

/**
 * Checks that a code, already removed from the store, may be exchanged for tokens. A rejected code cannot be used again.
 * `now` in ms since the epoch.
 */
export function redeemCode<Code extends CodeBinding>(code: Code, redemption: Redemption, now: number): Checked<Code> {
  for (const rule of RULES) {
    const reason = rule(code, redemption, now);
    if (reason !== undefined) return refused(reason);
  }
  return accepted(code);
}

const reasonOf = (outcome: Checked<unknown>): RefusalReason | undefined => (outcome.ok ? undefined : outcome.reason);

/** Grant of the login that a refresh token belongs to. */
interface Granted {
  readonly clientId: string;
  readonly scopes: readonly string[];
  /** Configured spelling of the audience. */
  readonly resource: string;
}

export interface RequestedRefresh {
  /** Authenticated client. */
  readonly clientId: string;
  readonly scope: string | undefined;
  readonly resources: readonly string[];
}

/** Longest lifetime of a login, also with refreshes. */
const MAX_LOGIN_MS = 30 * 24 * 3_600_000;

/**
 * Determines scopes and resource of the next access token, before the refresh token is used up: a wrong scope or resource
 * does not cost the client its token. The grant itself does not change. @see RFC 6749 §6
 */
export function checkRefresh(
  granted: Granted,
  requested: RequestedRefresh,
): Checked<Pick<Granted, 'scopes' | 'resource'>> {
  if (granted.clientId !== requested.clientId) return refused('refresh_client');
  const resource = checkSameResource(requested.resources, granted.resource);
  if (!resource.ok) return resource;
  const scopes = narrowedScopes(requested.scope, granted.scopes);
  return scopes.ok ? accepted({ scopes: scopes.value, resource: resource.value }) : scopes;
}

/** Returns the end of a login, ms since the epoch. Refreshes do not extend it. */
export const loginEnd = (createdAt: number): number => createdAt + MAX_LOGIN_MS;
