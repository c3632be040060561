import type { KubeObject } from '../../../gateway/kube/resource.ts';
import { selectorOf } from '../../render/owned.ts';
import type { ObjectProblem } from '../../resolve/problems.ts';
import {
  failedCondition,
  falseCondition,
  trueCondition,
  warningCondition,
  type ConditionState,
} from '../condition-state.ts';
import { conditionsOf } from '../conditions.ts';
import type { Rollout } from './rollout.ts';

/** Observed result of applying the rendered objects. */
export interface ObservedWorkload {
  /** The Deployment or StatefulSet. */
  readonly workload?: KubeObject;
  /** Its pods, read only when some are not ready. */
  readonly pods?: readonly KubeObject[];
  /** HTTPRoute that leads clients to the pods. */
  readonly route?: KubeObject;
  /** Problems found while rendering and applying. */
  readonly problems: readonly ObjectProblem[];
  /** True when others had changed the number of pods, and the operator has set it back. */
  readonly scaledBack?: boolean;
}

/** Reasons of `Ready` that follow from the pods. */
export interface ReadyReasons {
  readonly ready: string;
  readonly pending: string;
  readonly failed: string;
}

/** Reason of `Ready` for an object without pods on purpose. It is as its spec says, like a Deployment of 0 pods. */
export const SCALED_TO_ZERO = 'ScaledToZero';

/** Builds `Ready` from the pods. The message names the failure of some pods even when others are ready. */
export function readyCondition({ desired, ready, failure, waitsFor }: Rollout, reasons: ReadyReasons): ConditionState {
  if (desired === 0) return trueCondition('Ready', SCALED_TO_ZERO, 'scaled to 0 replicas');
  const count = `${String(ready)} of ${String(desired)} pods are ready`;
  const why = failure ? `${failure.reason}: ${failure.message}` : waitsFor;
  const message = why === undefined ? count : `${count}; ${why}`;
  if (ready > 0) return trueCondition('Ready', reasons.ready, message);
  return failure
    ? failedCondition('Ready', reasons.failed, message)
    : falseCondition('Ready', reasons.pending, message);
}

/** Builds the members of the status that the subresource `scale` shows. */
export const scaleMembers = (kind: Parameters<typeof selectorOf>[0], name: string, rollout: Rollout | undefined) => ({
  replicas: rollout?.replicas ?? 0,
  selector: Object.entries(selectorOf(kind, name))
    .map(([label, value]) => `${label}=${value}`)
    .join(','),
});

const SCALED_BACK = 'ScaledBack';

/**
 * Builds `ScaledBack`, once others have changed the number of pods where only a single pod can serve. It stays until the next edit:
 * an autoscaler tries again and again, and the condition must not change each time.
 */
export function scaledBackConditions(
  object: KubeObject,
  { scaledBack = false }: ObservedWorkload,
  onePod: string | undefined,
): ConditionState[] {
  if (onePod === undefined) return [];
  const isKnown = conditionsOf(object).get(SCALED_BACK)?.observedGeneration === object.metadata.generation;
  if (!scaledBack && !isKnown) return [];
  const message = `an autoscaler or a user scaled the pods, and the operator keeps one, because each pod would serve only its own clients: ${onePod}; then an autoscaler may set the number`;
  return [warningCondition(SCALED_BACK, 'ReplicasShareNothing', message)];
}
