import { expect, it } from 'vitest';
import { Secret, type Identity } from '../../../contract/identity.ts';
import { Account, createBudgets } from '../../budgets/account.ts';
import { Sessions, type ClientFacts } from '../../session.ts';
import { RequestSessions } from './request-sessions.ts';

const facts: ClientFacts = {
  revision: '2026-07-28',
  capabilities: '{}',
  offers: new Set(),
  client: { name: 'c', version: '1' },
};

function start() {
  let last = 0;
  const budgets = createBudgets();
  const sessions = new Sessions({
    ttlMs: 1_000,
    limit: 100,
    now: () => 0,
    newId: () => `id-${String((last += 1))}`,
    accountOf: (principal) => new Account(principal, budgets, () => undefined),
    onForeign: () => undefined,
    onEnd: () => undefined,
  });
  return { sessions, requests: new RequestSessions(sessions) };
}

const token = (claims: object, scopes: readonly string[] = []): Identity => ({
  principal: 'ann',
  issuer: 'https://i.example',
  subject: 'ann',
  scopes: new Set(scopes),
  claims: { ...claims },
  token: new Secret('t'),
  expiresAt: 1,
});

it('gives requests of one client one session, and clients no way to name it', () => {
  const { sessions, requests } = start();
  const session = requests.of('anonymous', undefined, facts);
  expect(requests.of('anonymous', undefined, { ...facts })).toBe(session);
  expect(sessions.find(session.id, 'anonymous')).toBeUndefined();
  expect(sessions.has(session.id)).toBe(false);
  expect([sessions.size, sessions.hidden]).toEqual([0, 1]);
  expect(requests.of('anonymous', undefined, { ...facts, capabilities: '{"roots":{}}' })).not.toBe(session);
});

it('shares a session between tokens of the same rights only', () => {
  const { requests } = start();
  const session = requests.of('ann', token({ sub: 'ann', exp: 1, jti: 'a' }), facts);
  const newer = token({ sub: 'ann', exp: 2, jti: 'b' });
  expect(requests.of('ann', newer, facts)).toBe(session);
  expect(session.identity).toBe(newer);
  expect(requests.of('ann', token({ sub: 'ann', exp: 1, groups: ['a'] }), facts)).not.toBe(session);
  expect(requests.of('ann', token({ sub: 'ann', exp: 1 }, ['write']), facts)).not.toBe(session);
});

it('opens another session after one has ended', () => {
  const { sessions, requests } = start();
  const session = requests.of('anonymous', undefined, facts);
  sessions.end(session, 'closed');
  expect(requests.of('anonymous', undefined, facts)).not.toBe(session);
});
