import type { KubeObject } from '../../../gateway/kube/resource.ts';
import { compareText } from '../../resolve/snapshot.ts';

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
