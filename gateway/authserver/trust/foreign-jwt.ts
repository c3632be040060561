import type { JsonObject } from '../../contract/json.ts';
import { TokenRefused } from '../../incoming/refusal.ts';
import { classify, decodeObject, type JwtParts } from '../../incoming/tokens/classify.ts';

/** JWT whose signature is not verified yet. */
export interface ForeignJwt {
  readonly token: string;
  readonly parts: JwtParts;
  readonly claims: JsonObject;
}

const MAX_TOKEN_CHARS = 16 * 1024;

/** Reads a JWT without verifying it. Returns undefined for any other text and for an encrypted JWT. */
export function readForeignJwt(token: string): ForeignJwt | undefined {
  if (token.length > MAX_TOKEN_CHARS) return undefined;
  try {
    const parts = classify(token);
    const claims = parts && decodeObject(parts.payload);
    return claims && { token, parts, claims };
  } catch (error) {
    if (error instanceof TokenRefused) return undefined;
    throw error;
  }
}
