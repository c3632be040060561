import { expect, it } from 'vitest';
import { ANONYMOUS } from '../../contract/identity.ts';
import { CallsInProgress } from './calls-in-progress.ts';

it('limits the calls of all sessions of a principal together, and those of nobody else', () => {
  const calls = new CallsInProgress(3);
  const [first, second, other] = [calls.open('alice'), calls.open('alice'), calls.open('bob')];
  expect([first.enter(), second.enter(), first.enter(), second.enter(), first.enter()]).toEqual([
    true,
    true,
    true,
    false,
    false,
  ]);
  expect(other.enter()).toBe(true);
  second.leave();
  expect([first.enter(), second.enter()]).toEqual([true, false]);
});

it('does not limit anonymous clients, who are many users', () => {
  const count = new CallsInProgress(3).open(ANONYMOUS);
  expect(Array.from({ length: 1_000 }, () => count.enter())).not.toContain(false);
});

it('counts calls that outlive their session against the next session of the principal', () => {
  const calls = new CallsInProgress(1);
  const ended = calls.open('alice');
  ended.enter();
  ended.close();
  const next = calls.open('alice');
  expect(next.enter()).toBe(false);
  ended.leave();
  expect(next.enter()).toBe(true);
});

it('forgets a principal whose sessions are closed and whose calls have ended', () => {
  const calls = new CallsInProgress(3);
  const [first, second] = [calls.open('alice'), calls.open('alice')];
  first.enter();
  first.close();
  second.close();
  expect(calls.principals).toBe(1);
  first.leave();
  expect(calls.principals).toBe(0);
  calls.open('bob').close();
  expect(calls.principals).toBe(0);
});
