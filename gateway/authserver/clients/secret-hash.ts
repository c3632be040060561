import { createHash, timingSafeEqual } from 'node:crypto';

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Returns the SHA-256 in base64url, which is sufficient for secrets of 256 random bits. */
export const secretHash = (secret: string): string => digest(secret).toString('base64url');

/** Compares in constant time, also when there is no stored hash. */
export function matchesSecretHash(presented: string, stored: string | undefined): boolean {
  const expected = stored === undefined ? Buffer.alloc(32) : Buffer.from(stored, 'base64url');
  return expected.length === 32 && timingSafeEqual(digest(presented), expected) && stored !== undefined;
}
