import type { Engine } from './load/load.ts';
import type { Options } from './options.ts';
import type { Series } from './slices.ts';

/** Environment of a workload. */
export interface Bench {
  readonly options: Options;
  readonly engine: Engine;
  /** Scratch folder, removed after the run. */
  readonly folder: string;
  /** Root of the repository with the gateway. */
  readonly root: string;
  readonly log: (line: string) => void;
}

/** Target of a measured number, with the result of this run. */
export interface Goal {
  readonly text: string;
  readonly met: boolean;
}

/** A rate under load, compared with the yardstick of the same run. */
export interface RateRow extends Series {
  readonly workload: string;
  readonly variant: string;
  readonly server: string;
  /** Rate divided by the rate of the yardstick; null for the yardstick itself and when it did not run. */
  readonly ratio: number | null;
  readonly goal: Goal | null;
}

/** A single number with its spread over the rounds. */
export interface FigureRow {
  readonly workload: string;
  readonly figure: string;
  readonly unit: string;
  readonly values: readonly number[];
  readonly median: number;
  readonly goal: Goal | null;
}

export interface Report {
  readonly rates: readonly RateRow[];
  readonly figures: readonly FigureRow[];
  /** Sentences that explain the numbers. */
  readonly notes: readonly string[];
}

export interface Workload {
  /** Name in `--only`, in upper case. */
  readonly id: string;
  readonly title: string;
  /** Measures. Throws when a call got a wrong answer. The caller stops the processes. */
  readonly run: (bench: Bench) => Promise<Report>;
}

/** Returns a goal of the form "at least". */
export function atLeast(value: number, floor: number, what: string): Goal {
  return { text: `>= ${String(floor)} ${what}`, met: value >= floor };
}

/** Returns a goal of the form "at most". */
export function atMost(value: number, ceiling: number, unit: string): Goal {
  return { text: `<= ${String(ceiling)} ${unit}`, met: value <= ceiling };
}
