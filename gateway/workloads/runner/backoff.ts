const FIRST_MS = 1_000;
const LONGEST_MS = 30_000;
const STABLE_MS = 60_000;

/** Pause before restart number `restarts` (from 1): 1 s, 2 s, 4 s ... 30 s. */
export const backoffMs = (restarts: number): number => Math.min(FIRST_MS * 2 ** Math.max(0, restarts - 1), LONGEST_MS);

/** Restarts in a row after one more exit; a server that lived a minute starts over. */
export const countRestart = (restarts: number, aliveMs: number): number => (aliveMs >= STABLE_MS ? 1 : restarts + 1);
