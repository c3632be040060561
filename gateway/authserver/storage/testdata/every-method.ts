import type { Store } from '../store.ts';
import { client, codeGrant, family, HOUR_MS, SPANS, attempt, upstreamRow, user } from './samples.ts';

/** Returns a call of every method of a store except `close`. */
export function everyMethod(store: Store): readonly (readonly [string, () => Promise<unknown>])[] {
  const made = family(Date.now());
  const lock = { name: 'up:tsid:github', fence: 'fence' };
  const row = upstreamRow({ tsid: 'tsid' });
  return [
    ['loginAttempts.put', () => store.loginAttempts.put('handle', attempt(), HOUR_MS)],
    ['loginAttempts.get', () => store.loginAttempts.get('handle')],
    ['loginAttempts.take', () => store.loginAttempts.take('handle')],
    ['loginAttempts.takeOwn', () => store.loginAttempts.takeOwn('handle', ['hash'])],
    ['codes.put', () => store.codes.put('code', codeGrant(), HOUR_MS)],
    ['codes.take', () => store.codes.take('code', HOUR_MS)],
    ['families.create', () => store.families.create(made, 'token', SPANS)],
    ['families.find', () => store.families.find('token')],
    [
      'families.rotate',
      () => store.families.rotate({ family: made, token: 'token', successor: 'next', graceMs: 1, ...SPANS }),
    ],
    ['families.get', () => store.families.get(made.id)],
    ['families.ofUser', () => store.families.ofUser('user')],
    ['families.ofClient', () => store.families.ofClient('client')],
    ['families.revoke', () => store.families.revoke(made, HOUR_MS)],
    ['live.get', () => store.live.get('tsid')],
    ['clients.register', () => store.clients.register(client(), HOUR_MS, 1)],
    ['clients.put', () => store.clients.put(client(), HOUR_MS)],
    ['clients.get', () => store.clients.get('client')],
    ['clients.renew', () => store.clients.renew('client', HOUR_MS)],
    ['clients.delete', () => store.clients.delete('client')],
    ['clients.count', () => store.clients.count()],
    ['users.resolve', () => store.users.resolve(user())],
    ['users.get', () => store.users.get('user')],
    ['upstreamTokens.put', () => store.upstreamTokens.put(row, HOUR_MS)],
    ['upstreamTokens.replace', () => store.upstreamTokens.replace(row, lock)],
    ['upstreamTokens.get', () => store.upstreamTokens.get('tsid', 'github')],
    ['upstreamTokens.all', () => store.upstreamTokens.all('tsid')],
    ['upstreamTokens.extend', () => store.upstreamTokens.extend('tsid', ['github'], HOUR_MS)],
    ['upstreamTokens.delete', () => store.upstreamTokens.delete('tsid')],
    ['upstreamTokens.latestForUser', () => store.upstreamTokens.latestForUser('user', 'github')],
    ['locks.acquire', () => store.locks.acquire('lock', HOUR_MS)],
    ['locks.renew', () => store.locks.renew(lock, HOUR_MS)],
    ['locks.release', () => store.locks.release(lock)],
    ['registrations.get', () => store.registrations.get('key')],
    ['registrations.put', () => store.registrations.put('key', '{}')],
    ['registrations.delete', () => store.registrations.delete('key')],
    ['rates.take', () => store.rates.take('bucket', 'key', { capacity: 1, perSecond: 1 })],
    ['health', () => store.health()],
  ];
}
