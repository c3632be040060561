import { accepted, refused, type Outcome } from '../refusal.ts';
import { checkSameResource } from '../resource.ts';
import { narrowedScopes } from '../scope.ts';

/** Grant of the login that a refresh token belongs to. */
export interface Granted {
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
): Outcome<Pick<Granted, 'scopes' | 'resource'>> {
  if (granted.clientId !== requested.clientId) return refused('refresh_client');
  const resource = checkSameResource(requested.resources, granted.resource);
  if (!resource.ok) return resource;
  const scopes = narrowedScopes(requested.scope, granted.scopes);
  return scopes.ok ? accepted({ scopes: scopes.value, resource: resource.value }) : scopes;
}

/** Returns the end of a login, ms since the epoch. Refreshes do not extend it. */
export const loginEnd = (createdAt: number): number => createdAt + MAX_LOGIN_MS;
