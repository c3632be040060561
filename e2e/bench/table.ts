import type { FigureRow, Goal, RateRow, Report } from './workload.ts';

function markdown(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [
    line(header),
    line(header.map((name, index) => (index < 3 || name === 'target' ? '---' : '---:'))),
    ...rows.map(line),
  ].join('\n');
}

const orDash = (value: number | null, digits: number): string => (value === null ? '-' : value.toFixed(digits));
const verdict = (goal: Goal | null): string =>
  goal === null ? '' : `${goal.text}: ${goal.met ? 'met' : '**missed**'}`;
const thousands = (value: number): string => value.toFixed(0).replace(/\B(?=(\d{3})+$)/gu, ',');

function rateCells(row: RateRow): string[] {
  return [
    row.workload,
    row.variant,
    row.server,
    thousands(row.perSecond),
    row.p50Ms.toFixed(2),
    row.p99Ms.toFixed(2),
    orDash(row.cpuSecondsPerThousand, 3),
    orDash(row.rssMb, 0),
    row.ratio === null ? '' : row.ratio.toFixed(2),
    verdict(row.goal),
  ];
}

function figureCells({ workload, figure, unit, values, median, goal }: FigureRow): string[] {
  const spread = `${Math.min(...values).toFixed(2)} to ${Math.max(...values).toFixed(2)}`;
  return [workload, figure, unit, median.toFixed(2), spread, String(values.length), verdict(goal)];
}

/** Renders the reports as Markdown: a table of rates, a table of figures, and the notes; skips empty parts. */
export function toMarkdown(reports: readonly Report[]): string {
  const rates = reports.flatMap((report) => report.rates);
  const figures = reports.flatMap((report) => report.figures);
  const notes = reports.flatMap((report) => report.notes);
  const rateHeader = [
    'workload',
    'load',
    'server',
    'per second',
    'p50 ms',
    'p99 ms',
    'CPU s / 1,000',
    'RSS MB',
    'ratio',
    'target',
  ];
  const figureHeader = ['workload', 'figure', 'unit', 'median', 'spread', 'runs', 'target'];
  return [
    ...(rates.length === 0 ? [] : [markdown(rateHeader, rates.map(rateCells))]),
    ...(figures.length === 0 ? [] : [markdown(figureHeader, figures.map(figureCells))]),
    ...(notes.length === 0 ? [] : [notes.map((note) => `- ${note}`).join('\n')]),
  ].join('\n\n');
}
