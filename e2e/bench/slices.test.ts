import { describe, expect, it } from 'vitest';
import type { Load } from './load/load.ts';
import { interleave, measure, toSeries } from './slices.ts';

const load: Load = { requests: 500, seconds: 2, bytes: 0, p50Ms: 1, p99Ms: 3, failures: {} };

describe('interleave', () => {
  it('runs every contender in every round, each in turn as the first', async () => {
    const order: string[] = [];
    const slices = await interleave([{ name: 'a' }, { name: 'b' }], 3, ({ name }) => {
      order.push(name);
      return Promise.resolve(order.length);
    });
    expect(order.join('')).toBe('abbaab');
    expect([...slices.entries()]).toEqual([
      ['a', [1, 4, 5]],
      ['b', [2, 3, 6]],
    ]);
  });
});

describe('measure', () => {
  it('is the rate over the real duration', async () => {
    const measured = await measure(process.pid, 'this', () => Promise.resolve(load));
    expect(measured).toMatchObject({ perSecond: 250, p50Ms: 1, p99Ms: 3 });
  });

  it.each([
    ['a failed request', { ...load, failures: { status: 1 } }, '"status":1'],
    ['no request at all', { ...load, requests: 0 }, 'of 0 requests'],
  ])('fails on %s', async (_what, bad, message) => {
    await expect(measure(process.pid, 'this', () => Promise.resolve(bad))).rejects.toThrow(message);
  });
});

describe('toSeries', () => {
  it('takes the median of each member separately and keeps the rate of every round', () => {
    const slice = { perSecond: 1, p50Ms: 9, p99Ms: 20, cpuSecondsPerThousand: 0.1, rssMb: 100 };
    const slices = [slice, { ...slice, perSecond: 3, p50Ms: 7, rssMb: null }, { ...slice, perSecond: 2, p50Ms: 8 }];
    expect(toSeries(slices)).toEqual({
      perSecond: 2,
      perSecondByRound: [1, 3, 2],
      p50Ms: 8,
      p99Ms: 20,
      cpuSecondsPerThousand: 0.1,
      rssMb: null,
    });
  });
});
