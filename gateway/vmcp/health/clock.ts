/** Runs `run` once after `delayMs`, without keeping the process alive for it; the returned function prevents that. */
export type After = (delayMs: number, run: () => void) => () => void;

/** Time as a parameter. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  readonly after: After;
}

/** What a timer of the platform can hold; a longer one would fire at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** `After` with the timers of the platform. */
export const afterTimeout: After = (delayMs, run) => {
  const timer = setTimeout(run, Math.min(delayMs, LONGEST_TIMER_MS)).unref();
  return () => {
    clearTimeout(timer);
  };
};
