import type { Client, Family } from '../storage/records.ts';
import type { AuthServerSettings } from '../settings.ts';
import type { FamilySpans } from '../storage/store.ts';

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
