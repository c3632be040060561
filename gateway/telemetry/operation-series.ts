/**
 * Bounds of the MCP metrics, seconds. @see OpenTelemetry semantic-conventions-genai, gen-ai/mcp.md, at commit
 * 0393513c908bf895e7b3ec480a2c1eb073c584af
 */
export const MCP_BOUNDS: readonly number[] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

/** Bounds of `vmcp_backend_request_duration_seconds`, seconds. */
export const BACKEND_BOUNDS: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];

const ALL_BOUNDS = [...new Set([...MCP_BOUNDS, ...BACKEND_BOUNDS])].toSorted((a, b) => a - b);
const ALL_BOUNDS_MS = ALL_BOUNDS.map((seconds) => seconds * 1_000);

/**
 * Counts of durations by the bounds of every metric, so that one observation feeds them all. Plain numbers: an
 * observation in a labelled prom-client histogram is slower than all other bookkeeping of a call.
 */
export interface Durations {
  /** By the bounds of all metrics; the last is for longer durations. */
  readonly counts: number[];
  count: number;
  sumMs: number;
}

export const noDurations = (): Durations => ({ counts: [...ALL_BOUNDS, Infinity].map(() => 0), count: 0, sumMs: 0 });

export function record(durations: Durations, ms: number): void {
  durations.count += 1;
  durations.sumMs += ms;
  let bucket = 0;
  while (bucket < ALL_BOUNDS_MS.length && ms > (ALL_BOUNDS_MS[bucket] as number)) bucket += 1;
  (durations.counts[bucket] as number) += 1;
}

/** Adds the observations of `other`. */
export function add(durations: Durations, other: Durations): void {
  durations.count += other.count;
  durations.sumMs += other.sumMs;
  other.counts.forEach((count, bucket) => {
    (durations.counts[bucket] as number) += count;
  });
}

/** Returns the number of observations in each bucket of `bounds`, and last the number above all of them. */
export function bucketsOf({ counts }: Durations, bounds: readonly number[]): number[] {
  const buckets = [...bounds, Infinity].map(() => 0);
  let bucket = 0;
  counts.forEach((count, index) => {
    while (bucket < bounds.length && (ALL_BOUNDS[index] ?? Infinity) > (bounds[bucket] as number)) bucket += 1;
    (buckets[bucket] as number) += count;
  });
  return buckets;
}

/** Value of an attribute that is left out because there are too many values. */
export const OTHER = '_OTHER';

/**
 * Most series of one metric of one virtual server. Above it, names and error types become `_OTHER`: backends choose
 * them. @see OpenTelemetry specification, metrics/sdk.md, Cardinality limits
 */
const MOST_SERIES = 2_000;

/** Attributes of one series; '' where there is none. */
export interface MeasuredOperation {
  readonly method: string;
  /** Name of a tool or prompt. */
  readonly target: string;
  readonly errorType: string;
  readonly revision: string;
}

export interface OperationSeries extends MeasuredOperation {
  readonly durations: Durations;
}

type Level<T> = Map<string, T>;

/** Durations of operations by their attributes. */
export class OperationTree {
  readonly #methods: Level<Level<Level<Level<OperationSeries>>>> = new Map();
  readonly #all: OperationSeries[] = [];

  /** Every series so far. */
  get all(): readonly OperationSeries[] {
    return this.#all;
  }

  /** Returns the series of an operation, and creates it when it is new. */
  of(method: string, target: string, errorType: string, revision: string): Durations {
    const found = this.#methods.get(method)?.get(target)?.get(errorType)?.get(revision);
    if (found !== undefined) return found.durations;
    const isNamed = target !== '' && target !== OTHER;
    const isFailed = errorType !== '' && errorType !== OTHER;
    if (this.#all.length >= MOST_SERIES && (isNamed || isFailed))
      return this.of(method, isNamed ? OTHER : target, isFailed ? OTHER : errorType, revision);
    return this.#add({ method, target, errorType, revision, durations: noDurations() });
  }

  #add(series: OperationSeries): Durations {
    const targets = below(this.#methods, series.method);
    const errors = below(targets, series.target);
    below(errors, series.errorType).set(series.revision, series);
    this.#all.push(series);
    return series.durations;
  }
}

function below<T>(level: Level<Level<T>>, key: string): Level<T> {
  let found = level.get(key);
  if (found === undefined) level.set(key, (found = new Map<string, T>()));
  return found;
}
