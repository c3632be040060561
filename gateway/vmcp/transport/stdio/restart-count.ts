import { BackendError, DISCOVERY } from '../channel.ts';
import { processKey, type Isolation, type PrincipalOwner } from '../isolation.ts';
import { countRestart } from '../../../workloads/runner/restarts.ts';
import { crashLoop, type RestartPolicy } from '../../../workloads/runner/restarts.ts';
import type { Exit, LaunchProblem, Restart } from '../../../workloads/runner/runner.ts';

/** Time that `ended` gets where a process never answered. */
const NEVER_READY_MS = 0;

/** Counts the restarts in a row of one process, which ends again and again. */
export interface RestartCount {
  /** Called when the process has ended. `aliveMs` is absent for one that never answered, `exit` for one that vmcp stopped. */
  ended(exit: Exit | undefined, aliveMs?: number): void;
  /** Called when the process could not be started at all. */
  failed(problem: LaunchProblem): void;
  started(): void;
  /** Returns the restart that is under way. Its problem is permanent when it was the last one. */
  current(): Restart | undefined;
}

export function createRestartCount({ maxRestarts, stableMs }: RestartPolicy, now: () => number): RestartCount {
  let state: Restart | undefined;
  let openedAt: number | undefined;
  return {
    ended(exit, aliveMs = NEVER_READY_MS) {
      openedAt = undefined;
      const number = countRestart(state?.number ?? 0, aliveMs, stableMs);
      const problem = number > maxRestarts ? crashLoop(maxRestarts, exit) : undefined;
      state = { number, last: maxRestarts, exit, problem, isOpen: false };
    },
    failed(problem) {
      openedAt = undefined;
      state = { number: state?.number ?? 0, last: maxRestarts, problem, isOpen: false };
    },
    started() {
      openedAt = now();
      state &&= { ...state, problem: undefined, isOpen: true };
    },
    current: () => (openedAt !== undefined && now() - openedAt >= stableMs ? undefined : state),
  };
}

/** Restarts of the process that answers the gateway itself, which anonymous clients may share. */
export interface OwnRestarts {
  /** Returns the count of the owner's process. @throws BackendError when that is not started again */
  countOf(owner: PrincipalOwner): RestartCount | undefined;
  current(): Restart | undefined;
}

export function ownRestarts(policy: RestartPolicy | undefined, isolation: Isolation, now: () => number): OwnRestarts {
  const count = policy && createRestartCount(policy, now);
  let ownKey: string | undefined;
  return {
    countOf(owner) {
      const key = processKey(isolation, owner);
      if (owner.key === DISCOVERY) ownKey = key;
      if (key !== ownKey) return undefined;
      const problem = count?.current()?.problem;
      if (problem?.permanent) throw new BackendError({ kind: 'unavailable', detail: problem.message, launch: problem });
      return count;
    },
    current: () => count?.current(),
  };
}
