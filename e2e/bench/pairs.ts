import { median } from './statistics.ts';
import type { Report } from './workload.ts';

/** The part of a benchmark's JSON file that is compared. */
export interface RunReport {
  readonly reports: readonly Report[];
  readonly failures: readonly string[];
}

/** One run of each checkout, one after the other. */
export interface Pair {
  readonly head: RunReport;
  readonly base: RunReport;
}

/** A figure of both checkouts; `ratio` is the median of head divided by base, pair by pair. */
export interface Comparison {
  readonly name: string;
  readonly unit: string;
  readonly head: number;
  readonly base: number;
  readonly ratio: number;
  readonly lowest: number;
  readonly highest: number;
  readonly pairs: number;
}

interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
}

const figuresOf = ({ reports }: RunReport): Figure[] =>
  reports.flatMap(({ rates, figures }) => [
    ...rates.flatMap(({ workload, variant, server, perSecond, p99Ms, cpuSecondsPerThousand }) => {
      const name = [workload, variant, server].join(', ');
      return [
        { name, unit: '/s', value: perSecond },
        { name, unit: 'ms, p99', value: p99Ms },
        ...(cpuSecondsPerThousand === null ? [] : [{ name, unit: 'CPU s / 1,000', value: cpuSecondsPerThousand }]),
      ];
    }),
    ...figures.map(({ workload, figure, unit, median: value }) => ({ name: `${workload}, ${figure}`, unit, value })),
  ]);

/** Compares the figures that both runs of a pair have, in the order of the first pair. */
export function compare(pairs: readonly Pair[]): Comparison[] {
  const found = new Map<string, { unit: string; name: string; head: number[]; base: number[] }>();
  for (const { head, base } of pairs) {
    const before = new Map(figuresOf(base).map(({ name, unit, value }) => [`${name} ${unit}`, value]));
    for (const { name, unit, value } of figuresOf(head)) {
      const old = before.get(`${name} ${unit}`);
      if (old === undefined || old === 0) continue;
      const entry = found.get(`${name} ${unit}`) ?? { name, unit, head: [], base: [] };
      entry.head.push(value);
      entry.base.push(old);
      found.set(`${name} ${unit}`, entry);
    }
  }
  return [...found.values()].map(({ name, unit, head, base }) => {
    const ratios = head.map((value, index) => value / (base[index] ?? NaN));
    const range = { lowest: Math.min(...ratios), highest: Math.max(...ratios) };
    return { name, unit, head: median(head), base: median(base), ratio: median(ratios), ...range, pairs: head.length };
  });
}

const digits = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toPrecision(3));

/** Renders the comparisons as a table: a ratio above 1 is better for rates and worse for other figures. */
export function toPairedMarkdown(comparisons: readonly Comparison[]): string {
  const rows = comparisons.map(({ name, unit, head, base, ratio, lowest, highest, pairs }) => {
    const range = `${lowest.toFixed(2)} to ${highest.toFixed(2)}`;
    return [name, unit, digits(base), digits(head), ratio.toFixed(2), range, String(pairs)];
  });
  const header = ['workload', 'unit', 'base', 'this checkout', 'ratio', 'range', 'pairs'];
  return [header, header.map((_, index) => (index < 2 ? '---' : '---:')), ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}
