import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { LONGEST_TIMER_MS } from '../../kit/time.ts';
import { TimeLimit, type Limited } from './time-limit.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const limitedBy = (timedOut: () => void): Limited => ({
  ...{ timedOut, endsAt: undefined, earlier: undefined, later: undefined },
});

/** Starts a limit of 100 ms for each name, 30 ms apart, and lists the names that have ended. */
function started(...names: string[]) {
  const ended: string[] = [];
  const limit = TimeLimit.of(100);
  const all = names.map((name) => limitedBy(() => void ended.push(name)));
  for (const each of all) {
    limit.start(each);
    vi.advanceTimersByTime(30);
  }
  return { ended, limit, all };
}

it('ends each at its own time, with one timer', () => {
  const { ended } = started('a', 'b', 'c');
  expect(vi.getTimerCount()).toBe(1);
  const seen = [11, 30, 30].map((ms) => (vi.advanceTimersByTime(ms), ended.join('')));
  expect(seen).toEqual(['a', 'ab', 'abc']);
  expect(vi.getTimerCount()).toBe(0);
});

it('does not end what has stopped, and starts anew what starts again', () => {
  const { ended, limit, all } = started('a', 'b', 'c');
  const [a, b] = all;
  if (a) limit.stop(a);
  if (b) {
    limit.stop(b);
    limit.start(b);
  }
  vi.advanceTimersByTime(80);
  expect(ended).toEqual(['c']);
  vi.advanceTimersByTime(21);
  expect(ended).toEqual(['c', 'b']);
});

it('ends the others when the end of one throws', () => {
  const { ended, limit } = started('a');
  limit.start(
    limitedBy(() => {
      throw new Error('broken');
    }),
  );
  limit.start(limitedBy(() => void ended.push('z')));
  expect(() => vi.advanceTimersByTime(200)).toThrow('broken');
  vi.advanceTimersByTime(200);
  expect(ended).toEqual(['a', 'z']);
});

it('waits without further timers for an end that is later than a timer can be', () => {
  const limited = limitedBy(() => undefined);
  TimeLimit.of(2 * LONGEST_TIMER_MS).start(limited);
  const at = performance.now();
  vi.advanceTimersToNextTimer();
  expect(performance.now() - at).toBe(LONGEST_TIMER_MS);
  TimeLimit.of(2 * LONGEST_TIMER_MS).stop(limited);
  vi.runOnlyPendingTimers();
});
