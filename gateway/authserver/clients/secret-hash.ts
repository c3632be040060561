import { createHash, timingSafeEqual } from 'node:crypto';

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** SHA-256 in base64url. Enough for secrets of 256 random bits. */
export const secretHash = (secret: string): string => digest(secret).toString('base64url');

/** Takes the same time with and without a stored hash, and wherever the difference lies. */
export function matchesSecretHash(presented: string, stored: string | undefined): boolean {
  const expected = stored === undefined ? Buffer.alloc(32) : Buffer.from(stored, 'base64url');
  return expected.length === 32 && timingSafeEqual(digest(presented), expected) && stored !== undefined;
}
