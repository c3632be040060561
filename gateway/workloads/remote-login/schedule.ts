/** Runs an action after a time, and returns a function that cancels it. */
export type Schedule = (ms: number, action: () => void) => () => void;

/** Longest time that a timer of Node.js can hold. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Schedules with a timer that does not keep the process alive. */
export const bySystemTimer: Schedule = (ms, action) => {
  const timer = setTimeout(action, Math.min(Math.max(ms, 0), MAX_TIMER_MS)).unref();
  return () => {
    clearTimeout(timer);
  };
};
