import { describe, expect, it } from 'vitest';
import { identify, type ClaimRules } from './claims.ts';
import { classify } from './classify.ts';
import { ExpiringCache } from './expiring-cache.ts';

const rules: ClaimRules = {
  issuer: 'https://a.example',
  audience: 'vmcp',
  requireClientId: false,
  clockSkewMs: 30_000,
};
const base = { iss: 'https://a.example', aud: 'vmcp', sub: 'ann', exp: 2_000 };

describe('scopes', () => {
  it.each([
    ['scope', { scope: 'a b' }, ['a', 'b']],
    ['blanks', { scope: ' a  b ' }, ['a', 'b']],
    ['scp as a list', { scp: ['a', 7, 'b'] }, ['a', 'b']],
    ['scp as text', { scp: 'a b' }, ['a', 'b']],
    ['scope wins', { scope: 'a', scp: 'b' }, ['a']],
    ['none', {}, []],
    ['object', { scope: { a: true } }, []],
  ])('%s', (_, claims, scopes) => {
    expect([...identify({ ...base, ...claims }, 't', rules, 0).scopes]).toEqual(scopes);
  });
});

describe('principals', () => {
  it('differ for every pair of issuer and subject', () => {
    const principal = (issuer: string, sub: string) =>
      identify({ ...base, iss: issuer, sub }, 't', { ...rules, issuer }, 0).principal;
    expect(principal('https://a', 'b')).not.toBe(principal('https://', 'ab'));
    expect(principal('https://a', 'b')).toBe(principal('https://a', 'b'));
  });

  it('are the same for all tokens of one user', () => {
    const [first, second] = [{ jti: '1' }, { jti: '2', scope: 'x' }].map((more) =>
      identify({ ...base, ...more }, JSON.stringify(more), rules, 0),
    );
    expect(first?.principal).toBe(second?.principal);
  });
});

describe('times', () => {
  it.each([
    [2_029_999, true],
    [2_030_000, false],
  ])('at %i ms a token that ends at 2,000 s is good: %s', (now, good) => {
    const attempt = () => identify(base, 't', rules, now);
    if (good) expect(attempt().expiresAt).toBe(2_000_000);
    else expect(attempt).toThrow('expired');
  });
});

describe('what a token is', () => {
  const header = Buffer.from('{"alg":"RS256"}').toString('base64url');
  it.each([
    ['JWT', `${header}.e30.x`, true],
    ['unsigned JWT', `${header}.e30.`, true],
    ['empty payload', `${header}..x`, true],
    ['opaque', 'abc', false],
    ['three parts of something', 'a.b.c', false],
    ['header of text', `${Buffer.from('"x"').toString('base64url')}.e30.x`, false],
    ['header with null', `${Buffer.from('null').toString('base64url')}.e30.x`, false],
    ['empty', '', false],
  ])('%s', (_, token, isJwt) => {
    expect(classify(token) !== undefined).toBe(isJwt);
  });
});

describe('the cache', () => {
  it('holds 10,000 at most and lets the oldest go', () => {
    const cache = new ExpiringCache<number>();
    for (let i = 0; i < 10_050; i += 1) cache.set(String(i), i, 100, 0);
    expect(cache.size).toBe(10_000);
    expect([cache.get('49', 0), cache.get('50', 0), cache.get('10049', 0)]).toEqual([undefined, 50, 10_049]);
  });

  it('lets go what has expired, and takes nothing that already has', () => {
    const cache = new ExpiringCache<string>();
    cache.set('a', 'a', 100, 0);
    cache.set('b', 'b', 100, 100);
    expect([cache.get('a', 99), cache.get('a', 100), cache.size]).toEqual(['a', undefined, 0]);
  });
});
