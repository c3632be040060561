/** Runs `run` once after `delayMs` without keeping the process alive. The returned function cancels it. */
export type After = (delayMs: number, run: () => void) => () => void;

/** Clock and timers, so that tests can control time. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  readonly after: After;
}

/** Longest delay of a platform timer; a timer with a longer delay fires at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** `After` with the timers of the platform. */
export const afterTimeout: After = (delayMs, run) => {
  const timer = setTimeout(run, Math.min(delayMs, LONGEST_TIMER_MS)).unref();
  return () => {
    clearTimeout(timer);
  };
};

/** Resolves with the end of `running`, after `timeoutMs` at the latest. Rejects if `running` rejects before. */
export async function endOf(running: Promise<unknown>, timeoutMs: number): Promise<void> {
  const limit = Promise.withResolvers<undefined>();
  const timer = setTimeout(limit.resolve, timeoutMs, undefined);
  try {
    await Promise.race([running, limit.promise]);
  } finally {
    clearTimeout(timer);
  }
}
