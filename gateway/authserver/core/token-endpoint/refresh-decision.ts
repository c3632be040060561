import { accepted, refused, type Outcome } from '../refusal.ts';
import { checkSameResource } from '../resource.ts';
import { narrowedScopes } from '../scope.ts';

/** What was granted at login, for which a refresh token stands. */
export interface Granted {
  readonly clientId: string;
  readonly scopes: readonly string[];
  /** Audience as configured. */
  readonly resource: string;
}

export interface RefreshAsked {
  /** Authenticated. */
  readonly clientId: string;
  readonly scope: string | undefined;
  readonly resources: readonly string[];
}

/** However busy, a login ends after this time. */
const MAX_LOGIN_MS = 30 * 24 * 3_600_000;

/**
 * What the next access token is for. Decided before the refresh token is used up, so that a wrong scope or resource
 * costs the client nothing. The grant itself stays as wide as it was. @see RFC 6749 §6
 */
export function checkRefresh(granted: Granted, asked: RefreshAsked): Outcome<Pick<Granted, 'scopes' | 'resource'>> {
  if (granted.clientId !== asked.clientId) return refused('refresh_client');
  const resource = checkSameResource(asked.resources, granted.resource);
  if (!resource.ok) return resource;
  const scopes = narrowedScopes(asked.scope, granted.scopes);
  return scopes.ok ? accepted({ scopes: scopes.value, resource: resource.value }) : scopes;
}

/** End of a login, ms since the epoch. No refresh outlives it. */
export const loginEnd = (createdAt: number): number => createdAt + MAX_LOGIN_MS;
