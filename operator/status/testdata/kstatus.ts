import type { KubeObject } from '../../../gateway/kube/resource.ts';
import { conditionsOf, statusOf } from '../conditions.ts';

export type Verdict = 'Terminating' | 'InProgress' | 'Failed' | 'Current';

/**
 * Returns the verdict of kstatus on a custom resource, by which `helm --wait`, Flux and kpt wait. The rules are those of
 * `Compute` in sigs.k8s.io/cli-utils/pkg/kstatus/status v0.37.2, in their order.
 */
export function kstatus(object: KubeObject): Verdict {
  const { deletionTimestamp, generation } = object.metadata;
  const { observedGeneration } = statusOf(object);
  if (deletionTimestamp !== undefined) return 'Terminating';
  if (observedGeneration !== undefined && observedGeneration !== generation) return 'InProgress';
  const conditions = [...conditionsOf(object).values()];
  const first = conditions.find(({ type, status }) => ['Reconciling', 'Stalled'].includes(type) && status === 'True');
  if (first) return first.type === 'Stalled' ? 'Failed' : 'InProgress';
  const ready = conditions.find(({ type }) => type === 'Ready');
  return ready === undefined || ready.status === 'True' ? 'Current' : 'InProgress';
}
