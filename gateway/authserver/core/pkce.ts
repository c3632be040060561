import { hash, timingSafeEqual } from 'node:crypto';
import { accepted, refused, type Checked } from './refusal.ts';

/** SHA-256 in base64url, always 43 characters. */
const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;
/** Code verifier. @see RFC 7636 §4.1 */
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/;

/** Reads the challenge of an authorization request. Only S256 is accepted; an absent method means `plain`. @see RFC 7636 §4.3 */
export function readChallenge(challenge: string | undefined, method: string | undefined): Checked<string> {
  if (challenge === undefined) return refused('challenge_missing');
  if (method !== 'S256') return refused('challenge_method');
  return CHALLENGE.test(challenge) ? accepted(challenge) : refused('challenge_malformed');
}

/** Returns the S256 challenge of a verifier. @see RFC 7636 §4.2 */
export const s256Challenge = (verifier: string): string => hash('sha256', verifier, 'base64url');

/** Verifies that the code verifier matches the challenge stored with the code. @see RFC 7636 §4.6 */
export function checkVerifier(challenge: string | undefined, verifier: string | undefined): Checked<true> {
  if (verifier === undefined) return refused('verifier_missing');
  if (!VERIFIER.test(verifier)) return refused('verifier_malformed');
  const expected = Buffer.from(challenge ?? '');
  const actual = Buffer.from(s256Challenge(verifier));
  if (expected.length !== actual.length || !timingSafeEqual(expected, actual)) return refused('verifier_wrong');
  return accepted(true);
}
