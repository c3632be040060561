const FIRST_MS = 1_000;
const LONGEST_MS = 30_000;
const STABLE_MS = 60_000;

/** Returns the pause before restart number `restarts` (from 1): 1 s, 2 s, 4 s ... 30 s. */
export const backoffMs = (restarts: number): number => Math.min(FIRST_MS * 2 ** Math.max(0, restarts - 1), LONGEST_MS);

/** Returns the number of consecutive restarts after an exit. Enough uptime, a minute by default, resets it. */
export const countRestart = (restarts: number, aliveMs: number, stableMs = STABLE_MS): number =>
  aliveMs >= stableMs ? 1 : restarts + 1;
