import type { KubeObject } from '../../gateway/kube/resource.ts';
import { selectorOf } from '../render/owned.ts';
import type { ObjectProblem } from '../resolve/scope.ts';
import {
  failedCondition,
  falseCondition,
  trueCondition,
  warningCondition,
  type ConditionState,
  conditionsOf,
} from './conditions.ts';
import { compareText } from '../resolve/snapshot.ts';

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

/** Progress of the pods of a Deployment or StatefulSet. */
export interface Rollout {
  readonly desired: number;
  readonly ready: number;
  /** Number of pods that exist. */
  readonly replicas: number;
  /** True when every pod has the current template and is available, and no other pod is left. */
  readonly isComplete: boolean;
  /** Reason why pods cannot become ready without a change. */
  readonly failure?: RolloutFailure;
  /** Failure after which Kubernetes has stopped trying, or that a new attempt cannot change. */
  readonly stalled?: string;
  /** Text of the scheduler for pods that have no node yet. */
  readonly waitsFor?: string;
}

export interface RolloutFailure {
  readonly reason: string;
  readonly message: string;
}

interface WorkloadStatus {
  readonly observedGeneration?: number;
  readonly replicas?: number;
  readonly updatedReplicas?: number;
  readonly readyReplicas?: number;
  readonly availableReplicas?: number;
  readonly conditions?: readonly {
    readonly type: string;
    readonly status: string;
    readonly reason?: string;
    readonly message?: string;
  }[];
}

/** Reads the progress from a workload and, when given, its pods. */
export function rolloutOf(workload: KubeObject, pods: readonly KubeObject[] = []): Rollout {
  const spec = (workload['spec'] ?? {}) as { readonly replicas?: number };
  const status = (workload['status'] ?? {}) as WorkloadStatus;
  const failure = podFailure(pods) ?? workloadFailure(status);
  const waitsFor = unschedulable(pods);
  const isStalled = hasGivenUp(status) || (failure !== undefined && needsEdit(failure));
  return {
    desired: spec.replicas ?? 1,
    ready: status.availableReplicas ?? status.readyReplicas ?? 0,
    replicas: status.replicas ?? 0,
    isComplete: isRolledOut(workload),
    ...(failure && { failure }),
    ...(failure && isStalled && { stalled: `${failure.reason}: ${failure.message}` }),
    ...(waitsFor !== undefined && { waitsFor }),
  };
}

/** Returns true when all pods of a workload have its current template and are available. */
export function isRolledOut(workload: KubeObject): boolean {
  const { replicas: desired = 1 } = (workload['spec'] ?? {}) as { readonly replicas?: number };
  const status = (workload['status'] ?? {}) as WorkloadStatus;
  const { observedGeneration = 0, replicas = 0, updatedReplicas = 0, availableReplicas = 0 } = status;
  if (observedGeneration < (workload.metadata.generation ?? 1)) return false;
  return replicas === desired && updatedReplicas === desired && availableReplicas >= desired;
}

/** Returns true for a failure that no attempt can change: an invalid name, and an image that wants to run as root. */
const needsEdit = ({ reason, message }: RolloutFailure): boolean =>
  reason === 'InvalidImageName' || message.includes('runAsNonRoot');

/** Returns true after the progress deadline of a Deployment, which kstatus takes for a failure of the Deployment, too. */
const hasGivenUp = ({ conditions = [] }: WorkloadStatus): boolean =>
  conditions.some(({ type, reason }) => type === 'Progressing' && reason === 'ProgressDeadlineExceeded');

function workloadFailure({ conditions = [] }: WorkloadStatus): RolloutFailure | undefined {
  const failed =
    conditions.find(({ type, status }) => type === 'ReplicaFailure' && status === 'True') ??
    conditions.find(({ type, status }) => type === 'Progressing' && status === 'False');
  return (
    failed && { reason: failed.reason ?? failed.type, message: failed.message ?? 'the pods are not becoming ready' }
  );
}

interface ContainerStatus {
  readonly name: string;
  readonly ready?: boolean;
  readonly state?: ContainerState;
  readonly lastState?: ContainerState;
}

interface ContainerState {
  readonly waiting?: { readonly reason?: string; readonly message?: string };
  readonly terminated?: { readonly exitCode?: number; readonly reason?: string };
}

interface PodStatus {
  readonly initContainerStatuses?: readonly ContainerStatus[];
  readonly containerStatuses?: readonly ContainerStatus[];
  readonly conditions?: WorkloadStatus['conditions'];
}

/** Waiting reasons that do not resolve by themselves. Reasons between which a pod alternates map to one of them. */
const FAILURES: ReadonlyMap<string, string> = new Map([
  ['CrashLoopBackOff', 'CrashLoopBackOff'],
  ['CreateContainerConfigError', 'CreateContainerConfigError'],
  ['CreateContainerError', 'CreateContainerError'],
  ['ErrImageNeverPull', 'ErrImageNeverPull'],
  ['ErrImagePull', 'ImagePullBackOff'],
  ['ImagePullBackOff', 'ImagePullBackOff'],
  ['InvalidImageName', 'InvalidImageName'],
  ['RunContainerError', 'RunContainerError'],
]);

/** Reasons whose message changes with every attempt. */
const UNSTEADY: ReadonlySet<string> = new Set(['CrashLoopBackOff', 'ImagePullBackOff']);

const podStatus = (pod: KubeObject): PodStatus => pod['status'] ?? {};

function podFailure(pods: readonly KubeObject[]): RolloutFailure | undefined {
  const found = pods.flatMap((pod) => {
    const { initContainerStatuses = [], containerStatuses = [] } = podStatus(pod);
    return [...initContainerStatuses, ...containerStatuses].flatMap((container) => containerFailure(container) ?? []);
  });
  const [first] = found.toSorted((a, b) => compareText(a.reason, b.reason) || compareText(a.message, b.message));
  if (!first) return undefined;
  const alike = found.filter(({ message }) => message === first.message).length;
  return alike === 1 ? first : { ...first, message: `${first.message} (${String(alike)} pods)` };
}

function containerFailure({ name, state, lastState }: ContainerStatus): RolloutFailure | undefined {
  const exitCode = state?.terminated?.exitCode ?? lastState?.terminated?.exitCode;
  const waiting = state?.waiting?.reason;
  const reason = waiting === undefined ? undefined : FAILURES.get(waiting);
  if (reason === undefined) {
    const ended = state?.terminated?.exitCode ?? 0;
    if (ended === 0) return undefined;
    return { reason: 'CrashLoopBackOff', message: `container ${name} exited with code ${String(ended)}` };
  }
  if (reason === 'CrashLoopBackOff') {
    const how = exitCode === undefined ? 'keeps exiting' : `exited with code ${String(exitCode)}`;
    return { reason, message: `container ${name} ${how}` };
  }
  const detail = UNSTEADY.has(reason)
    ? 'the image cannot be pulled'
    : (state?.waiting?.message ?? 'the container cannot start');
  return { reason, message: `container ${name}: ${detail}` };
}

function unschedulable(pods: readonly KubeObject[]): string | undefined {
  const texts = pods.flatMap((pod) =>
    (podStatus(pod).conditions ?? []).flatMap(({ type, status, message }) =>
      type === 'PodScheduled' && status === 'False' ? [message ?? 'no node accepts the pod'] : [],
    ),
  );
  return texts.toSorted(compareText)[0];
}
