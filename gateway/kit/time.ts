/** Runs `run` once after `delayMs`. The returned function cancels it. */
export type After = (delayMs: number, run: () => void) => () => void;

/** Clock and timers, so that tests can control time. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  readonly after: After;
}

/** Longest delay of a platform timer; a timer with a longer delay fires at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

const timerFor = (delayMs: number, run: () => void): NodeJS.Timeout =>
  setTimeout(run, Math.min(Math.max(delayMs, 0), LONGEST_TIMER_MS));

const cancelling = (timer: NodeJS.Timeout) => (): void => {
  clearTimeout(timer);
};

/** `After` with a timer of the platform that does not keep the process alive. */
export const afterTimeout: After = (delayMs, run) => cancelling(timerFor(delayMs, run).unref());

/** `After` with a timer of the platform that keeps the process alive. */
export const afterLiveTimeout: After = (delayMs, run) => cancelling(timerFor(delayMs, run));

/** Returns the pause after a number of failures in a row: `firstMs` after the first, doubled by each other, at most `longestMs`. */
export const backoffMs = (failures: number, firstMs: number, longestMs: number): number =>
  Math.min(firstMs * 2 ** Math.max(0, failures - 1), longestMs);

/** Returns the pause that follows a pause: twice as long, at most `longestMs`. */
export const nextPauseMs = (pauseMs: number, longestMs: number): number => Math.min(pauseMs * 2, longestMs);

export interface LimitOptions {
  readonly after?: After;
  /** Ends the limit when it is aborted. */
  readonly signal?: AbortSignal;
}

/** Returns the result of `running`, or `late` after `limitMs`. Rejects if `running` rejects before. Does not end `running`. */
export async function within<Result, Late>(
  limitMs: number,
  running: Promise<Result>,
  late: Late,
  { after = afterLiveTimeout, signal }: LimitOptions = {},
): Promise<Result | Late> {
  const limit = Promise.withResolvers<Late>();
  const end = (): void => {
    limit.resolve(late);
  };
  const cancel = after(limitMs, end);
  if (signal?.aborted === true) end();
  signal?.addEventListener('abort', end, { once: true });
  try {
    return await Promise.race([running, limit.promise]);
  } finally {
    cancel();
    signal?.removeEventListener('abort', end);
  }
}

/** As `within`, for callers that need no result. */
export async function endOf(limitMs: number, running: Promise<unknown>, options?: LimitOptions): Promise<void> {
  await within(limitMs, running, undefined, options);
}

const LATE = Symbol('late');

/** Returns the result of `work`, which may hang. After `limitMs` aborts its signal and rejects with the error of `late`. */
export async function withinTime<Result>(
  limitMs: number,
  work: (signal: AbortSignal) => Promise<Result>,
  late: () => Error,
): Promise<Result> {
  const abort = new AbortController();
  const result = await within(limitMs, work(abort.signal), LATE);
  if (result !== LATE) return result;
  abort.abort();
  throw late();
}

/**
 * Runs `work` with a signal that aborts with a `TimeoutError` after `limitMs`, or with `outer`. Unlike `AbortSignal.timeout`, no
 * timer outlives the work. Waits until `work` ends, which its signal must cause.
 */
export async function limited<Result>(
  limitMs: number,
  work: (signal: AbortSignal) => Promise<Result>,
  outer?: AbortSignal,
): Promise<Result> {
  const limit = new AbortController();
  const abort = (): void => {
    limit.abort(outer?.reason);
  };
  const cancel = afterTimeout(limitMs, () => {
    limit.abort(new DOMException('took too long', 'TimeoutError'));
  });
  if (outer?.aborted === true) abort();
  outer?.addEventListener('abort', abort, { once: true });
  try {
    return await work(limit.signal);
  } finally {
    cancel();
    outer?.removeEventListener('abort', abort);
  }
}
