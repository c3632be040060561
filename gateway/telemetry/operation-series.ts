import { noDurations, type Durations } from './durations.ts';

/** Value of an attribute that is left out because there are too many values. */
export const OTHER = '_OTHER';

/**
 * Most series of one metric of one virtual server. Above it, names and error types become `_OTHER`: backends choose
 * them. @see OpenTelemetry specification, metrics/sdk.md, Cardinality limits
 */
const MOST_SERIES = 2_000;

/** Attributes of one series; '' where there is none. */
export interface Operation {
  readonly method: string;
  /** Name of a tool or prompt. */
  readonly target: string;
  readonly errorType: string;
  readonly revision: string;
}

export interface OperationSeries extends Operation {
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
