import { describe, expect, test } from 'vitest';
import { createLongReplyPace } from './long-reply-pace.ts';

/** Returns the pauses after the given shares of a busy event loop, each measured for `ms`. */
function pausesAfter(shares: readonly number[], ms = 60): number[] {
  const total = { active: 0, idle: 0, utilization: 0 };
  const pace = createLongReplyPace(() => ({ ...total }));
  return shares.map((share) => {
    total.active += share * ms;
    total.idle += (1 - share) * ms;
    return pace.pauseMs();
  });
}

describe('pace of long replies', () => {
  test('pauses in proportion to the utilization of the event loop', () => {
    expect(pausesAfter([0, 0.1, 0.5, 1])).toEqual([0, 1, 5, 10]);
  });

  test('takes the longest pause until the utilization is known', () => {
    expect(pausesAfter([0, 0, 0], 20)).toEqual([10, 10, 0]);
  });

  test('takes the longest pause after a gap, because the average of a long time hides a busy moment', () => {
    expect(pausesAfter([0, 0], 2_000)).toEqual([10, 10]);
  });
});
