import { Buffer } from 'node:buffer';
import { expect, it } from 'vitest';
import { Secret, type Identity } from '../../contract/identity.ts';
import type { AccessTokens, IssuerValidator } from '../token-validator.ts';
import { withUpstreamClaims } from './upstream-claims.ts';

const USER: Identity = {
  ...{ principal: 'p', issuer: 'https://desk.example', subject: 'ann', clientId: 'c', scopes: new Set(), tsid: 't-1' },
  ...{ claims: { sub: 'ann' }, token: new Secret('own'), expiresAt: Infinity },
};
const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const jwt = (claims: unknown): Secret => new Secret(`${part({ alg: 'ES256' })}.${part(claims)}.c2ln`);

/** Validates every token as `user`, whose upstream token is the answer of `get`. */
function underTest(get: AccessTokens['get'], user: Identity = USER) {
  const warnings: unknown[] = [];
  const inner: IssuerValidator = {
    ...{ validate: () => user, liveness: (identity) => identity === user },
    ...{ warmUp: () => undefined, status: () => ({ ready: true }), issuer: () => 'i', close: () => undefined },
  };
  const log = { warn: (...line: unknown[]) => warnings.push(line) };
  return { validator: withUpstreamClaims(inner, 'corp', { get }, log), warnings };
}

it('adds the claims of the stored token, and new ones of a new token', async () => {
  let token = jwt({ groups: ['ops'] });
  const { validator } = underTest(({ tsid, subject, clientId }, provider) => {
    expect([tsid, subject, clientId, provider]).toEqual(['t-1', 'ann', 'c', 'corp']);
    return { accessToken: token };
  });
  const first = await validator.validate('a');
  expect(first).toEqual({ ...USER, upstream: { provider: 'corp', claims: { groups: ['ops'] } } });
  expect(validator.validate('a')).toBe(first);
  expect(validator.liveness(first)).toBe(true);
  token = jwt({ groups: [] });
  expect((await validator.validate('a')).upstream?.claims).toEqual({ groups: [] });
});

it('awaits a token that is not in memory', async () => {
  const { validator } = underTest(() => Promise.resolve({ accessToken: jwt({ level: 3 }) }));
  expect((await validator.validate('a')).upstream?.claims).toEqual({ level: 3 });
});

it.each<[string, AccessTokens['get'], Identity?]>([
  ['no login', () => ({ accessToken: jwt({}) }), { ...USER, tsid: undefined }],
  ['no stored token', () => Promise.reject(new Error('this login has no usable token'))],
  [
    'no stored token in memory',
    () => {
      throw new Error('this login has no usable token');
    },
  ],
  ['an opaque token', () => ({ accessToken: new Secret('gho_4711') })],
  ['an encrypted token', () => ({ accessToken: new Secret('a.b.c.d.e') })],
  ['claims that are no object', () => ({ accessToken: jwt(['admin']) })],
  ['claims that are not JSON', () => ({ accessToken: new Secret('e30.e3.c2ln') })],
])('adds nothing for %s', async (_, get, user = USER) => {
  const { validator, warnings } = underTest(get, user);
  expect(await validator.validate('a')).toBe(user);
  expect(await validator.validate('a')).toBe(user);
  expect(warnings).toHaveLength(user.tsid === undefined ? 0 : 1);
  expect(JSON.stringify(warnings)).not.toContain('4711');
});
