import type { KubeObject } from '../../gateway/kube/resource.ts';
import type { ObjectProblem } from '../resolve/problems.ts';
import { fails, holds, pends, type Claim } from './claim.ts';
import type { Rollout } from './rollout.ts';

/** What became of what was rendered. */
export interface ObservedWorkload {
  /** The Deployment or StatefulSet. */
  readonly workload?: KubeObject;
  /** Its pods, where they were looked at because some are not ready. */
  readonly pods?: readonly KubeObject[];
  /** Of rendering and of applying. */
  readonly problems: readonly ObjectProblem[];
}

/** The reasons of `Ready` that speak of pods. */
export interface ReadyReasons {
  readonly ready: string;
  readonly pending: string;
  readonly failed: string;
}

/** How far the pods are. One that is ready does not hide what is wrong with the others. */
export function readyClaim({ desired, ready, failure, waitsFor }: Rollout, reasons: ReadyReasons): Claim {
  if (desired === 0) return pends('Ready', reasons.pending, 'scaled to 0');
  const count = `${String(ready)} of ${String(desired)} pods are ready`;
  const why = failure ? `${failure.reason}: ${failure.message}` : waitsFor;
  const message = why === undefined ? count : `${count}; ${why}`;
  if (ready > 0) return holds('Ready', reasons.ready, message);
  return failure ? fails('Ready', reasons.failed, message) : pends('Ready', reasons.pending, message);
}
