import { restartPauseMs, countRestart } from '../../../workloads/runner/restarts.ts';
import type { RestartPolicy } from '../../../workloads/runner/restarts.ts';
import { BackendError } from '../channel.ts';

/**
 * Key for failed starts: they delay all keys, as the process of another client would fail too. A crash delays its own
 * key only.
 */
const EVERY_KEY = '';
const FORGET_AFTER_MS = 60_000;

/**
 * Pauses before a process is started again: 1 s, 2 s, 4 s ... 30 s. A process that ran for a minute resets its pause.
 */
export interface RestartPauses {
  /** @throws BackendError `unavailable` with `retryAfterSeconds` during the pause of `key` */
  check(key: string): void;
  /**
   * `cause` names the reason in words, if it is known. `waits` is true when the start waits for something else, such as a container engine:
   * the pause does not grow.
   */
  startFailed(waits?: boolean, cause?: string): void;
  started(): void;
  crashed(key: string, aliveMs: number, cause?: string): void;
}

/** Rules for the pauses. Those of `vmcp up` when absent. */
export interface PauseRules {
  /** Longest pause, where something else limits restarts too. */
  readonly longestMs?: number | undefined;
  readonly policy?: Pick<RestartPolicy, 'pauseMs' | 'stableMs'> | undefined;
}

export function createRestartPauses(now: () => number, rules: PauseRules = {}): RestartPauses {
  const { longestMs = Infinity, policy: { pauseMs = restartPauseMs, stableMs } = {} } = rules;
  const crashes = new Map<string, { count: number; until: number; cause: string | undefined }>();
  const add = (key: string, aliveMs: number, cause: string | undefined, waits = false) => {
    for (const [old, { until }] of crashes) if (until + FORGET_AFTER_MS < now()) crashes.delete(old);
    const count = waits && rules.policy ? 1 : countRestart(crashes.get(key)?.count ?? 0, aliveMs, stableMs);
    crashes.set(key, { count, until: now() + Math.min(pauseMs(count), longestMs), cause });
  };
  return {
    check(key) {
      const ends = [crashes.get(EVERY_KEY), crashes.get(key)].filter((end) => end !== undefined);
      const last = ends.toSorted((a, b) => b.until - a.until)[0];
      const leftMs = (last?.until ?? 0) - now();
      if (leftMs <= 0) return;
      const retryAfterSeconds = Math.ceil(leftMs / 1_000);
      const detail = `the process ended or could not be started; the next start is in ${retryAfterSeconds} s`;
      throw new BackendError({ kind: 'unavailable', detail, cause: last?.cause, retryAfterSeconds });
    },
    startFailed: (waits, cause) => {
      add(EVERY_KEY, 0, cause, waits);
    },
    started: () => {
      crashes.delete(EVERY_KEY);
    },
    crashed: (key, aliveMs, cause) => {
      add(key, aliveMs, cause);
    },
  };
}
