export const KINDS = ['provider', 'client', 'server'] as const;
export type Kind = (typeof KINDS)[number];

/** Result of a check of a provider, a client or a server. */
export interface Check {
  readonly name: string;
  /** `absent`: the other side has no such feature. */
  readonly outcome: 'passed' | 'failed' | 'absent';
  /** Sentence for the table: the numbers, or the reason. */
  readonly detail: string;
}

/** Checks of a registry entry. */
export interface Result {
  readonly kind: Kind;
  readonly name: string;
  readonly title: string;
  readonly version: string;
  /** Day of the run, `2026-11-28`. */
  readonly date: string;
  readonly checks: readonly Check[];
}

/** Returns `old` with `result` in place of an earlier result of the same entry, sorted as the table is. */
export function withResult(old: readonly Result[], result: Result): Result[] {
  const others = old.filter(({ kind, name }) => kind !== result.kind || name !== result.name);
  const order = ({ kind, name }: Result): string => `${String(KINDS.indexOf(kind))} ${name}`;
  return [...others, result].toSorted((one, other) => (order(one) < order(other) ? -1 : 1));
}

/** Counts the checks. Those that are absent count as neither. */
export function tallyOf(results: readonly Result[]): { passed: number; failed: number } {
  const outcomes = results.flatMap(({ checks }) => checks.map(({ outcome }) => outcome));
  const count = (wanted: Check['outcome']): number => outcomes.filter((outcome) => outcome === wanted).length;
  return { passed: count('passed'), failed: count('failed') };
}
