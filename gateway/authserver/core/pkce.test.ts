import { calculatePKCECodeChallenge, randomPKCECodeVerifier } from 'openid-client';
import { describe, expect, it } from 'vitest';
import { checkVerifier, readChallenge } from './pkce.ts';

/** RFC 7636 appendix B. */
const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';

describe('code_challenge', () => {
  it('is accepted with S256', () => {
    expect(readChallenge(CHALLENGE, 'S256')).toEqual({ ok: true, value: CHALLENGE });
  });

  it.each([
    ['absent', undefined, undefined, 'challenge_missing'],
    ['a method without challenge', undefined, 'S256', 'challenge_missing'],
    ['no method, which means plain', CHALLENGE, undefined, 'challenge_method'],
    ['plain', CHALLENGE, 'plain', 'challenge_method'],
    ['s256', CHALLENGE, 's256', 'challenge_method'],
    ['42 characters', CHALLENGE.slice(1), 'S256', 'challenge_malformed'],
    ['44 characters', `${CHALLENGE}A`, 'S256', 'challenge_malformed'],
    ['padding', `${CHALLENGE.slice(1)}=`, 'S256', 'challenge_malformed'],
    ['base64', `${CHALLENGE.slice(1)}+`, 'S256', 'challenge_malformed'],
    ['a line break', `${CHALLENGE}\n`, 'S256', 'challenge_malformed'],
  ])('is rejected: %s', (_what, challenge, method, reason) => {
    expect(readChallenge(challenge, method)).toEqual({ ok: false, reason });
  });
});

describe('code_verifier', () => {
  it.each([
    ['RFC 7636 appendix B', VERIFIER],
    ['all other characters', `${VERIFIER}.~`],
    ['128 characters', 'v'.repeat(128)],
  ])('is accepted: %s', async (_what, verifier) => {
    const challenge = await calculatePKCECodeChallenge(verifier);
    expect(checkVerifier(challenge, verifier)).toEqual({ ok: true, value: true });
  });

  it('of another implementation matches only its challenge', async () => {
    const verifier = randomPKCECodeVerifier();
    expect(checkVerifier(await calculatePKCECodeChallenge(verifier), verifier).ok).toBe(true);
    expect(checkVerifier(CHALLENGE, verifier)).toEqual({ ok: false, reason: 'verifier_wrong' });
  });

  it.each([
    ['absent', CHALLENGE, undefined, 'verifier_missing'],
    ['for a code without challenge', undefined, VERIFIER, 'verifier_wrong'],
    ['for an empty challenge', '', VERIFIER, 'verifier_wrong'],
    ['42 characters', CHALLENGE, 'v'.repeat(42), 'verifier_malformed'],
    ['129 characters', CHALLENGE, 'v'.repeat(129), 'verifier_malformed'],
    ['another character', CHALLENGE, `${VERIFIER}+`, 'verifier_malformed'],
    ['a letter that is not ASCII', CHALLENGE, `${VERIFIER}é`, 'verifier_malformed'],
    ['wrong', CHALLENGE, VERIFIER.toLowerCase(), 'verifier_wrong'],
    ['the challenge itself', CHALLENGE, CHALLENGE, 'verifier_wrong'],
  ])('is rejected: %s', (_what, challenge, verifier, reason) => {
    expect(checkVerifier(challenge, verifier)).toEqual({ ok: false, reason });
  });
});
