import { expect, it } from 'vitest';
import { delegationOf, whoIs } from './audit-log.ts';
import { Secret, type Identity } from '../contract/identity.ts';

const identity = (claims: Record<string, unknown>): Identity => ({
  principal: 'p',
  issuer: 'https://i.example',
  subject: 'u-1',
  scopes: new Set(),
  claims,
  token: new Secret('t'),
  expiresAt: 0,
});

it.each([
  [{ name: 'Ann', preferred_username: 'ann', email: 'a@x' }, 'Ann'],
  [{ preferred_username: 'ann', email: 'a@x' }, 'ann'],
  [{ name: '', email: 'a@x' }, 'a@x'],
  [{ name: 7 }, 'anonymous'],
])('names the user of %j %s', (claims, user) => {
  expect(whoIs(identity(claims), 10).subjects).toEqual({ user, user_id: 'u-1', issuer: 'https://i.example' });
});

it('names an anonymous user', () => {
  expect(whoIs(undefined, 10)).toEqual({ subjects: { user: 'anonymous' }, delegation: undefined });
});

const act = { iss: 'a', sub: '1', act: { sub: '2', act: { sub: '3' } } };

it.each([
  ['no claim', undefined, 10, undefined],
  ['a chain', act, 10, { chain: [{ iss: 'a', sub: '1' }, { sub: '2' }, { sub: '3' }] }],
  ['a long chain', act, 1, { chain: [{ iss: 'a', sub: '1' }], truncated: true, omitted: 2 }],
  ['no object', 'x', 10, { chain: [], malformed: true }],
  ['an actor without subject', { sub: '1', act: { iss: 'a' } }, 10, { chain: [{ sub: '1' }], malformed: true }],
])('reads the actors of %s', (_what, claim, depth, expected) => {
  expect(delegationOf(claim, depth)).toEqual(expected);
});
