import { describe, expect, it } from 'vitest';
import { MAX_CACHED, readIdentity, type ClaimRules } from './claims.ts';
import { classify } from './classify.ts';
import { ExpiringMap } from '../../kit/cache.ts';

const rules: ClaimRules = {
  issuer: 'https://a.example',
  audience: 'vmcp',
  requireClientId: false,
  clockSkewMs: 30_000,
};
const base = { iss: 'https://a.example', aud: 'vmcp', sub: 'ann', exp: 2_000 };

describe('the scopes of a token', () => {
  it.each([
    ['the scope claim', { scope: 'a b' }, ['a', 'b']],
    ['a scope claim with extra blanks', { scope: ' a  b ' }, ['a', 'b']],
    ['an scp list, without members that are not strings', { scp: ['a', 7, 'b'] }, ['a', 'b']],
    ['an scp string', { scp: 'a b' }, ['a', 'b']],
    ['scope instead of scp when both are present', { scope: 'a', scp: 'b' }, ['a']],
    ['missing claims as none', {}, []],
    ['an object as none', { scope: { a: true } }, []],
  ])('are read from %s', (_, claims, scopes) => {
    expect([...readIdentity({ ...base, ...claims }, 't', rules, 0).scopes]).toEqual(scopes);
  });
});

describe('principals', () => {
  it('differ for every pair of issuer and subject', () => {
    const principal = (issuer: string, sub: string) =>
      readIdentity({ ...base, iss: issuer, sub }, 't', { ...rules, issuer }, 0).principal;
    expect(principal('https://a', 'b')).not.toBe(principal('https://', 'ab'));
    expect(principal('https://a', 'b')).toBe(principal('https://a', 'b'));
  });

  it('are the same for all tokens of one user', () => {
    const [first, second] = [{ jti: '1' }, { jti: '2', scope: 'x' }].map((more) =>
      readIdentity({ ...base, ...more }, JSON.stringify(more), rules, 0),
    );
    expect(first?.principal).toBe(second?.principal);
  });
});

describe('the expiry of a token', () => {
  it.each([
    [2_029_999, true],
    [2_030_000, false],
  ])('includes 30 s of clock skew: at %i ms a token with exp 2,000 s is accepted: %s', (now, good) => {
    const attempt = () => readIdentity(base, 't', rules, now);
    if (good) expect(attempt().expiresAt).toBe(2_000_000);
    else expect(attempt).toThrow('expired');
  });
});

describe('classify', () => {
  const header = Buffer.from('{"alg":"RS256"}').toString('base64url');
  it.each([
    ['a JWT as a JWT', `${header}.e30.x`, true],
    ['an unsigned JWT as a JWT', `${header}.e30.`, true],
    ['a JWT with an empty payload as a JWT', `${header}..x`, true],
    ['an opaque token as no JWT', 'abc', false],
    ['three parts without a JSON header as no JWT', 'a.b.c', false],
    ['a token with a string as header as no JWT', `${Buffer.from('"x"').toString('base64url')}.e30.x`, false],
    ['a token with null as header as no JWT', `${Buffer.from('null').toString('base64url')}.e30.x`, false],
    ['an empty token as no JWT', '', false],
  ])('recognizes %s', (_, token, isJwt) => {
    expect(classify(token) !== undefined).toBe(isJwt);
  });
});

describe('the cache of verified tokens', () => {
  it('holds 10,000 entries at most and removes the oldest', () => {
    const cache = new ExpiringMap<number>(() => 0, undefined, MAX_CACHED);
    for (let i = 0; i < 10_050; i += 1) cache.set(String(i), i, 100);
    expect(cache.size).toBe(10_000);
    expect([cache.get('49', 0), cache.get('50', 0), cache.get('10049', 0)]).toEqual([undefined, 50, 10_049]);
  });

  it('removes expired entries and stores no entry that has already expired', () => {
    const cache = new ExpiringMap<string>(() => 0, undefined, MAX_CACHED);
    cache.set('a', 'a', 100, 0);
    cache.set('b', 'b', 0, 100);
    expect([cache.get('a', 99), cache.get('a', 100), cache.size]).toEqual(['a', undefined, 0]);
  });
});
