import { escapeInvisible } from '../../../gateway/contract/text/printable.ts';
import type { LocatedProblem } from '../../source/files/located.ts';
import { compareText } from '../../resolve/snapshot.ts';

/** Output streams of a command. */
export interface Io {
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
}

export type Severity = 'problem' | 'warning';

/** Renders `file:line: Kind/name: path: message [Reason]`, with "(warning)" after a warning. */
export function formatProblem(problem: LocatedProblem, severity: Severity = 'problem'): string {
  const { file, line, kind, name, path, message, reason } = problem;
  const mark = severity === 'warning' ? ' (warning)' : '';
  return escapeInvisible(`${file}:${String(line)}: ${kind}/${name}: ${path}: ${message} [${reason}]${mark}`);
}

/** Renders one line per problem and warning, sorted by file and line. */
export function formatProblems(problems: readonly LocatedProblem[], warnings: readonly LocatedProblem[]): string {
  const rows = [
    ...problems.map((problem) => ({ problem, severity: 'problem' as const })),
    ...warnings.map((problem) => ({ problem, severity: 'warning' as const })),
  ];
  return rows
    .toSorted((a, b) => comparePlace(a.problem, b.problem))
    .map(({ problem, severity }) => `${formatProblem(problem, severity)}\n`)
    .join('');
}

/** Returns the problems in the order in which people read files. */
export const inFileOrder = (problems: readonly LocatedProblem[]): LocatedProblem[] => problems.toSorted(comparePlace);

function comparePlace(a: LocatedProblem, b: LocatedProblem): number {
  return compareText(a.file, b.file) || a.line - b.line || a.column - b.column || compareText(a.path, b.path);
}

/** Renders `3 problems in 2 files`, and the number of warnings. */
export function summarize(problems: readonly LocatedProblem[], warnings: readonly LocatedProblem[]): string {
  const files = new Set(problems.map(({ file }) => file)).size;
  const beside = warnings.length > 0 ? `, ${count(warnings.length, 'warning')}` : '';
  return `${count(problems.length, 'problem')} in ${count(files, 'file')}${beside}`;
}

/** Renders `1 file` or `2 files`. */
export const count = (number: number, noun: string): string => `${String(number)} ${noun}${number === 1 ? '' : 's'}`;
