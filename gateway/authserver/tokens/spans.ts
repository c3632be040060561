import type { Client } from '../storage/client.ts';
import type { AuthServerSettings } from '../settings.ts';
import type { Family } from '../storage/records.ts';
import type { FamilySpans } from '../storage/store.ts';

/** The most that a verifier's clock may lag behind: tokens count until then. */
const MAX_SKEW_MS = 300_000;

export const mayRefresh = ({ metadata }: Client): boolean => metadata.grant_types.includes('refresh_token');

/** How long what a login consists of is kept, from now on. */
export function familySpans({ lifespans, refreshGraceMs }: AuthServerSettings, refreshable: boolean): FamilySpans {
  // A replay within the grace window gives out an access token too, without another write of the liveness.
  const liveMs = lifespans.accessToken * 1_000 + refreshGraceMs + MAX_SKEW_MS;
  return { idleMs: refreshable ? lifespans.refreshToken * 1_000 : liveMs, liveMs };
}

/** How long upstream tokens may be needed: until the last access token that can come of the family has expired. */
export const upstreamTtlMs = ({ expiresAt }: Family, { idleMs, liveMs }: FamilySpans, now: number): number =>
  Math.min(idleMs, expiresAt - now) + liveMs;
