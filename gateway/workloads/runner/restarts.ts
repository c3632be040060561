import type { Exit, LaunchProblem, Restart } from './runner.ts';
import { backoffMs } from '../../kit/time.ts';

/** Rules for a process that ends again and again. */
export interface RestartPolicy {
  /** Restarts in a row after which vmcp gives up. */
  readonly maxRestarts: number;
  /** Uptime that resets the number of restarts in a row. */
  readonly stableMs: number;
  /** Returns the pause before a restart in a row, counted from 1. */
  readonly pauseMs: (restarts: number) => number;
}

const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 60_000;

/** Restarts of a managed workload: ten in a row, after 5 s, 10 s, 20 s ... 60 s. */
export const WORKLOAD_RESTARTS: RestartPolicy = {
  maxRestarts: 10,
  stableMs: 30_000,
  pauseMs: (restarts) => backoffMs(restarts, FIRST_PAUSE_MS, LONGEST_PAUSE_MS),
};

const FIRST_MS = 1_000;
const LONGEST_MS = 30_000;
const STABLE_MS = 60_000;

/** Returns the pause before restart number `restarts` (from 1): 1 s, 2 s, 4 s ... 30 s. */
export const restartPauseMs = (restarts: number): number => backoffMs(restarts, FIRST_MS, LONGEST_MS);

/** Returns the number of consecutive restarts after an exit. Enough uptime, a minute by default, resets it. */
export const countRestart = (restarts: number, aliveMs: number, stableMs = STABLE_MS): number =>
  aliveMs >= stableMs ? 1 : restarts + 1;

/** Returns the end of a process as a sentence. */
export function endSentence({ exit, problem }: Pick<Restart, 'exit' | 'problem'>): string {
  if (problem) return problem.message;
  if (!exit) return 'it was started and did not answer';
  if (exit.code === -1) return 'it could not be executed';
  return exit.code === null ? `it was ended by ${String(exit.signal)}` : `it ended with exit code ${String(exit.code)}`;
}

/** Returns a sentence about a restart, for users. */
export function restartSentence(restart: Restart): string {
  const end = endSentence(restart);
  if (restart.number === 0 || restart.problem) return end;
  return `${end} and is restarted (restart ${String(restart.number)} of ${String(restart.last)})`;
}

/** Returns the problem of a process that ended after the last restart, too. */
export function crashLoop(restarts: number, exit: Exit | undefined): LaunchProblem {
  const message = `${endSentence({ exit })} after each of ${String(restarts)} restarts: read its log, correct it, then restart it`;
  return { reason: 'CrashLoop', message, permanent: true };
}
