import { describe, expect, it } from 'vitest';
import { Account, createBudgets } from './budgets/account.ts';
import { Sessions } from './session.ts';

const CLIENT = {
  revision: '2025-11-25',
  capabilities: '{}',
  offers: new Set<string>(),
  client: { name: 'test', version: '1' },
};

function fixture(limit = 3) {
  const state = { now: 1_000_000, ids: 0, ended: [] as string[] };
  const sessions = new Sessions({
    ttlMs: 60_000,
    limit,
    now: () => state.now,
    newId: () => `s${String((state.ids += 1))}`,
    accountOf: (principal) => new Account(principal, createBudgets(), () => undefined),
    onForeign: () => undefined,
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

  it('ends idle sessions before those that wait for a reply when the limit is exceeded', () => {
    const { state, sessions } = fixture(2);
    const busy = sessions.create('a', CLIENT);
    busy.running.add({ id: '1', place: -1, cancel: () => undefined });
    const idle = sessions.create('a', CLIENT);
    const third = sessions.create('a', CLIENT);
    expect(state.ended).toEqual([idle.id]);
    sessions.create('a', CLIENT);
    expect(state.ended).toEqual([idle.id, third.id]);
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
