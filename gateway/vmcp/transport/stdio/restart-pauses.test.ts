import { describe, expect, it } from 'vitest';
import { BackendError } from '../channel.ts';
import { createRestartPauses } from './restart-pauses.ts';

function pausesAt() {
  let now = 0;
  const pauses = createRestartPauses(() => now);
  const retryAfter = (key: string): number | undefined => {
    try {
      pauses.check(key);
      return undefined;
    } catch (error) {
      return error instanceof BackendError ? error.failure.retryAfterSeconds : NaN;
    }
  };
  return { pauses, retryAfter, elapse: (ms: number) => (now += ms) };
}

describe('createRestartPauses', () => {
  it('doubles the pause of a key up to 30 s', () => {
    const { pauses, retryAfter, elapse } = pausesAt();
    const seen = Array.from({ length: 8 }, () => {
      pauses.crashed('a', 100);
      const seconds = retryAfter('a') ?? 0;
      elapse(seconds * 1_000);
      expect(retryAfter('a')).toBeUndefined();
      return seconds;
    });
    expect(seen).toEqual([1, 2, 4, 8, 16, 30, 30, 30]);
  });

  it('reports the remaining time, rounded up', () => {
    const { pauses, retryAfter, elapse } = pausesAt();
    pauses.crashed('a', 0);
    pauses.crashed('a', 0);
    expect(retryAfter('a')).toBe(2);
    elapse(999);
    expect(retryAfter('a')).toBe(2);
    elapse(1_000);
    expect(retryAfter('a')).toBe(1);
    elapse(1);
    expect(retryAfter('a')).toBeUndefined();
  });

  it('resets after a process has run for a minute, and a minute after the pause', () => {
    const { pauses, retryAfter, elapse } = pausesAt();
    for (let n = 0; n < 5; n += 1) pauses.crashed('a', 0);
    pauses.crashed('a', 60_000);
    expect(retryAfter('a')).toBe(1);
    pauses.crashed('a', 0);
    elapse(2_000 + 60_001);
    pauses.crashed('b', 0);
    pauses.crashed('a', 0);
    expect(retryAfter('a')).toBe(1);
  });

  it('delays only the key that crashed, but every key when a start failed', () => {
    const { pauses, retryAfter } = pausesAt();
    pauses.crashed('a', 0);
    expect(retryAfter('b')).toBeUndefined();
    pauses.startFailed();
    pauses.startFailed();
    expect([retryAfter('a'), retryAfter('b')]).toEqual([2, 2]);
    pauses.started();
    expect([retryAfter('a'), retryAfter('b')]).toEqual([1, undefined]);
  });
});
