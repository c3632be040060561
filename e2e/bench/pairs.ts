import { median, ratiosByRound } from './statistics.ts';
import type { Report } from './workload.ts';

/** The part of a benchmark's JSON file that is compared. */
export interface RunReport {
  readonly reports: readonly Report[];
  readonly failures: readonly string[];
}

/** A figure of both checkouts; `ratio` is the median of head divided by base, round by round. */
export interface Comparison {
  readonly name: string;
  readonly unit: string;
  readonly head: number;
  readonly base: number;
  readonly ratio: number;
  readonly lowest: number;
  readonly highest: number;
  readonly rounds: number;
}

interface Figure {
  readonly name: string;
  readonly unit: string;
  /** By round; of some figures only the median of all rounds is known. */
  readonly values: readonly number[];
}

const figuresOf = ({ reports }: RunReport): Figure[] =>
  reports.flatMap(({ rates, figures }) => [
    ...rates.flatMap(({ workload, variant, server, perSecondByRound, p99Ms, cpuSecondsPerThousand }) => {
      const name = [workload, variant, server].join(', ');
      return [
        { name, unit: '/s', values: perSecondByRound },
        { name, unit: 'ms, p99', values: [p99Ms] },
        ...(cpuSecondsPerThousand === null ? [] : [{ name, unit: 'CPU s / 1,000', values: [cpuSecondsPerThousand] }]),
      ];
    }),
    ...figures.map(({ workload, figure, unit, values }) => ({ name: `${workload}, ${figure}`, unit, values })),
  ]);

/** Compares the figures that the runs of both checkouts have, whose rounds alternated. */
export function compare(head: RunReport, base: RunReport): Comparison[] {
  const before = new Map(figuresOf(base).map(({ name, unit, values }) => [`${name} ${unit}`, values]));
  return figuresOf(head).flatMap(({ name, unit, values }) => {
    const old = before.get(`${name} ${unit}`);
    if (old === undefined || old.length === 0 || old.includes(0)) return [];
    const ratios = ratiosByRound(values, old);
    const range = { lowest: Math.min(...ratios), highest: Math.max(...ratios) };
    const medians = { head: median(values), base: median(old), ratio: median(ratios) };
    return [{ name, unit, ...medians, ...range, rounds: ratios.length }];
  });
}

const digits = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toPrecision(3));

/** Renders the comparisons as a table: a ratio above 1 is better for rates and worse for other figures. */
export function toPairedMarkdown(comparisons: readonly Comparison[]): string {
  const rows = comparisons.map(({ name, unit, head, base, ratio, lowest, highest, rounds }) => {
    const range = `${lowest.toFixed(2)} to ${highest.toFixed(2)}`;
    return [name, unit, digits(base), digits(head), ratio.toFixed(2), range, String(rounds)];
  });
  const header = ['workload', 'unit', 'base', 'this checkout', 'ratio', 'range', 'rounds'];
  return [header, header.map((_, index) => (index < 2 ? '---' : '---:')), ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}
