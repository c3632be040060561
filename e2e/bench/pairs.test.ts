import { describe, expect, it } from 'vitest';
import { compare, toPairedMarkdown, type RunReport } from './pairs.ts';

const run = (perSecondByRound: readonly number[], seconds?: number): RunReport => ({
  failures: [],
  reports: [
    {
      rates: [
        {
          workload: 'W1',
          variant: '1 connection',
          server: 'gateway',
          perSecond: 0,
          perSecondByRound,
          p50Ms: 1,
          p99Ms: 2,
          cpuSecondsPerThousand: null,
          rssMb: null,
          ratio: null,
          goal: null,
        },
      ],
      figures:
        seconds === undefined
          ? []
          : [{ workload: 'start', figure: 'ready', unit: 's', values: [seconds], median: seconds, goal: null }],
      notes: [],
    },
  ],
});

describe('compare', () => {
  it('takes the median of the ratios round by round, not the ratio of the medians', () => {
    const [rate] = compare(run([100, 50, 10]), run([100, 40, 20]));
    expect(rate).toMatchObject({ unit: '/s', head: 50, base: 40, ratio: 1, lowest: 0.5, highest: 1.25, rounds: 3 });
  });

  it('skips a figure that one of the two checkouts does not have', () => {
    const names = compare(run([100], 1), run([100])).map(({ name }) => name);
    expect(names).not.toContain('start, ready');
  });
});

describe('toPairedMarkdown', () => {
  it('prints one row for each figure, with as many cells as the header', () => {
    const lines = toPairedMarkdown(compare(run([110], 1), run([100], 2))).split('\n');
    expect(lines[2]).toBe('| W1, 1 connection, gateway | /s | 100 | 110 | 1.10 | 1.10 to 1.10 | 1 |');
    expect(lines.at(-1)).toBe('| start, ready | s | 2.00 | 1.00 | 0.50 | 0.50 to 0.50 | 1 |');
    expect(new Set(lines.map((line) => line.split('|').length)).size).toBe(1);
  });
});
