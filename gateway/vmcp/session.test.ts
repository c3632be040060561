import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { Account, createBudgets } from './budgets/account.ts';
import { closeIdleChannels, Sessions, TooManySessions, type Session } from './session.ts';

const CLIENT = {
  revision: '2025-11-25',
  capabilities: '{}',
  offers: new Set<string>(),
  client: { name: 'test', version: '1' },
};

function fixture(limit = 3, share?: () => Session['shared']) {
  const state = { now: 1_000_000, ids: 0, ended: [] as string[] };
  const sessions = new Sessions({
    ttlMs: 60_000,
    limit,
    now: () => state.now,
    newId: () => `s${String((state.ids += 1))}`,
    accountOf: (principal) => new Account(principal, createBudgets(), () => undefined),
    onForeign: () => undefined,
    share,
    onEnd: (session) => state.ended.push(session.id),
  });
  return { state, sessions };
}

describe('Sessions', () => {
  it('finds a session for its principal only; a foreign request does not extend it', () => {
    const { state, sessions } = fixture();
    const { id } = sessions.create('alice', CLIENT);
    expect(sessions.find(id, 'mallory')).toBeUndefined();
    state.now += 50_000;
    expect(sessions.find(id, 'mallory')).toBeUndefined();
    state.now += 20_000;
    sessions.sweep();
    expect(sessions.find(id, 'alice')).toBeUndefined();
    expect(state.ended).toEqual([id]);
  });

  it('extends the time to live with every use', () => {
    const { state, sessions } = fixture();
    const { id } = sessions.create('alice', CLIENT);
    for (let use = 0; use < 5; use += 1) {
      state.now += 50_000;
      expect(sessions.find(id, 'alice')?.id).toBe(id);
    }
    state.now += 61_000;
    expect(sessions.find(id, 'alice')).toBeUndefined();
  });

  it('ends the least recently used session when the limit is exceeded', () => {
    const { state, sessions } = fixture(2);
    const first = sessions.create('a', CLIENT);
    const second = sessions.create('a', CLIENT);
    state.now += 20_000;
    sessions.find(first.id, 'a');
    sessions.create('a', CLIENT);
    expect(state.ended).toEqual([second.id]);
    expect(sessions.size).toBe(2);
  });

  it('ends idle sessions only when the limit is exceeded, and rejects another one when all wait for a reply', () => {
    const { state, sessions } = fixture(2);
    const work = (session: Session) => {
      session.running.add({ id: '1', place: -1, cancel: () => undefined });
    };
    const busy = sessions.create('a', CLIENT);
    work(busy);
    const idle = sessions.create('a', CLIENT);
    const third = sessions.create('a', CLIENT);
    expect(state.ended).toEqual([idle.id]);
    work(third);
    expect(() => sessions.create('a', CLIENT)).toThrow(TooManySessions);
    expect(state.ended).toEqual([idle.id]);
    expect(sessions.find(busy.id, 'a')).toBe(busy);
  });

  it('ends the oldest session of a principal with 1,000 when it uses another one that another replica opened', () => {
    const { state, sessions } = fixture(2_000);
    const other = sessions.create('b', CLIENT);
    for (let count = 0; count < 1_000; count += 1) sessions.restore(`r${String(count)}`, 'a', CLIENT, 0);
    expect(state.ended).toEqual([]);
    const { id } = sessions.restore('r1000', 'a', CLIENT, 0);
    expect(state.ended).toEqual(['r0']);
    expect(sessions.find(id, 'a')?.id).toBe(id);
    expect(sessions.find(other.id, 'b')).toBe(other);
  });

  it('ends a session earlier that no request has used, unless its client has a stream', () => {
    const { state, sessions } = fixture(4);
    const [left, used, listening, back] = ['left', 'used', 'listening', 'back'].map(() => sessions.create('a', CLIENT));
    if (!left || !used || !listening || !back) throw new Error('no session');
    used.isUsed = true;
    const stream = new PassThrough();
    listening.streams.main.attach(stream);
    for (let swept = 0; swept < 2; swept += 1) {
      state.now += 14_000;
      sessions.find(back.id, 'a'); // a notification
      sessions.sweep();
    }
    expect(state.ended).toEqual([left.id]);
    listening.streams.main.detach();
    sessions.sweep();
    expect(state.ended).toEqual([left.id]);
    state.now += 16_000;
    sessions.sweep();
    expect(state.ended).toEqual([left.id, listening.id, back.id]);
    state.now += 45_000;
    sessions.sweep();
    expect(state.ended).toEqual([left.id, listening.id, back.id, used.id]);
  });

  it('gives a session that no request has used five minutes at most', () => {
    const { sessions } = fixture();
    sessions.ttlMs = 1_800_000;
    expect(sessions.unusedTtlMs).toBe(300_000);
  });

  it('keeps a session with a running call or an open stream', () => {
    const { state, sessions } = fixture();
    const session = sessions.create('a', CLIENT);
    session.running.add({ id: '1', place: -1, cancel: () => undefined });
    state.now += 120_000;
    sessions.sweep();
    expect(sessions.find(session.id, 'a')).toBe(session);
  });
});

it('the replica with the client stream keeps channels whose session other replicas use', () => {
  const log = { append: () => undefined, forget: () => undefined };
  const streams = { replica: 'aaaaaaaa', log, elsewhere: () => false };
  const shared = { confirmedAt: 0, confirming: undefined, holder: 'aaaaaaaa', turn: 1, connection: undefined, streams };
  const { sessions } = fixture(3, () => shared);
  const session = sessions.create('a', CLIENT);
  session.channels.set('b', { channel: undefined, opening: undefined, lastUsedAt: 0 });
  session.streams.main.attach(new PassThrough());
  closeIdleChannels(session, 1);
  expect(session.channels.has('b')).toBe(true);
  session.streams.main.detach();
  closeIdleChannels(session, 1);
  expect(session.channels.has('b')).toBe(false);
});
