import { decodeJwt } from 'jose';
import type { JsonObject } from '../../contract/json.ts';

/** Age up to which a token counts as new: the user has just logged in, or the provider has just refreshed the login. */
const NEW_MS = 120_000;

/** Returns the claims of a JWT without verifying it; undefined for another token. */
export function claimsOf(token: string): JsonObject | undefined {
  try {
    return decodeJwt(token);
  } catch {
    return undefined;
  }
}

/** Returns the time in `iat`, ms since the epoch. */
export function issuedAt(claims: JsonObject | undefined): number | undefined {
  const iat = claims?.['iat'];
  return typeof iat === 'number' ? iat * 1_000 : undefined;
}

/** Returns true when a login cannot give a newer token that the endpoint would treat differently. */
export const isNew = (issued: number | undefined, now: number): boolean =>
  issued !== undefined && now - issued <= NEW_MS;
