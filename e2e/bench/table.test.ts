import { describe, expect, it } from 'vitest';
import { toMarkdown } from './table.ts';
import { atLeast, atMost, type RateRow } from './workload.ts';

const row: RateRow = {
  workload: 'W1',
  variant: '1 connection',
  server: 'gateway',
  perSecond: 12_345.6,
  perSecondByRound: [12_345.6],
  p50Ms: 0.101,
  p99Ms: 2,
  cpuSecondsPerThousand: 0.1234,
  rssMb: null,
  ratio: 0.7499,
  goal: atLeast(0.7499, 0.75, 'of the bare proxy'),
};

describe('toMarkdown', () => {
  it('prints a rate with its ratio and marks a missed target', () => {
    const lines = toMarkdown([{ rates: [row], figures: [], notes: [] }]).split('\n');
    expect(lines).toHaveLength(3);
    expect(lines[2]).toBe(
      '| W1 | 1 connection | gateway | 12,346 | 0.10 | 2.00 | 0.123 | - | 0.75 | >= 0.75 of the bare proxy: **missed** |',
    );
  });

  it('prints a figure with the spread of its runs', () => {
    const figure = { workload: 'start', figure: 'ready', unit: 's', values: [0.5, 0.4, 0.9], median: 0.5 };
    const text = toMarkdown([{ rates: [], figures: [{ ...figure, goal: atMost(0.5, 1, 's') }], notes: ['A note.'] }]);
    expect(text).toContain('| start | ready | s | 0.50 | 0.40 to 0.90 | 3 | <= 1 s: met |');
    expect(text).toMatch(/\n\n- A note\.$/u);
  });

  it('has as many cells in every row as in its header', () => {
    const lines = toMarkdown([{ rates: [row, { ...row, goal: null, ratio: null }], figures: [], notes: [] }]).split(
      '\n',
    );
    expect(new Set(lines.map((line) => line.split('|').length)).size).toBe(1);
  });
});
