import { calculatePKCECodeChallenge, randomPKCECodeVerifier } from 'openid-client';
import { describe, expect, it } from 'vitest';
import { checkVerifier, readChallenge } from './pkce.ts';

/** RFC 7636 appendix B. */
const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';

describe('code_challenge', () => {
  it('is taken with S256', () => {
    expect(readChallenge(CHALLENGE, 'S256')).toEqual({ ok: true, value: CHALLENGE });
  });

  it.each([
    ['row 14: absent', undefined, undefined, 'challenge_missing'],
    ['row 14: a method alone', undefined, 'S256', 'challenge_missing'],
    ['row 14: no method, which means plain', CHALLENGE, undefined, 'challenge_method'],
    ['row 14: plain', CHALLENGE, 'plain', 'challenge_method'],
    ['row 14: s256', CHALLENGE, 's256', 'challenge_method'],
    ['42 characters', CHALLENGE.slice(1), 'S256', 'challenge_malformed'],
    ['44 characters', `${CHALLENGE}A`, 'S256', 'challenge_malformed'],
    ['padding', `${CHALLENGE.slice(1)}=`, 'S256', 'challenge_malformed'],
    ['base64', `${CHALLENGE.slice(1)}+`, 'S256', 'challenge_malformed'],
    ['a line break', `${CHALLENGE}\n`, 'S256', 'challenge_malformed'],
  ])('%s: is refused', (_what, challenge, method, reason) => {
    expect(readChallenge(challenge, method)).toEqual({ ok: false, reason });
  });
});

describe('code_verifier', () => {
  it.each([
    ['RFC 7636 appendix B', VERIFIER],
    ['all other characters', `${VERIFIER}.~`],
    ['128 characters', 'v'.repeat(128)],
  ])('%s: is taken', async (_what, verifier) => {
    const challenge = await calculatePKCECodeChallenge(verifier);
    expect(checkVerifier(challenge, verifier)).toEqual({ ok: true, value: true });
  });

  it('of another implementation fits its challenge and no other', async () => {
    const verifier = randomPKCECodeVerifier();
    expect(checkVerifier(await calculatePKCECodeChallenge(verifier), verifier).ok).toBe(true);
    expect(checkVerifier(CHALLENGE, verifier)).toEqual({ ok: false, reason: 'verifier_wrong' });
  });

  it.each([
    ['row 15: absent', CHALLENGE, undefined, 'verifier_missing'],
    ['row 15: for a code without challenge', undefined, VERIFIER, 'verifier_wrong'],
    ['row 15: for an empty challenge', '', VERIFIER, 'verifier_wrong'],
    ['row 16: 42 characters', CHALLENGE, 'v'.repeat(42), 'verifier_malformed'],
    ['row 16: 129 characters', CHALLENGE, 'v'.repeat(129), 'verifier_malformed'],
    ['row 16: another character', CHALLENGE, `${VERIFIER}+`, 'verifier_malformed'],
    ['row 16: a letter that is not ASCII', CHALLENGE, `${VERIFIER}é`, 'verifier_malformed'],
    ['row 16: wrong', CHALLENGE, VERIFIER.toLowerCase(), 'verifier_wrong'],
    ['row 16: the challenge itself', CHALLENGE, CHALLENGE, 'verifier_wrong'],
  ])('%s: is refused', (_what, challenge, verifier, reason) => {
    expect(checkVerifier(challenge, verifier)).toEqual({ ok: false, reason });
  });
});
