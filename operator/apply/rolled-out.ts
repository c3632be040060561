import { RESOURCES, type KubeObject } from '../../gateway/kube/resource.ts';

/** Kinds that pods of an earlier spec may still need, and the workloads that created these pods. */
const NEEDED_BY_PODS: ReadonlySet<string> = new Set(
  [
    RESOURCES.ServiceAccount,
    RESOURCES.Role,
    RESOURCES.RoleBinding,
    RESOURCES.ConfigMap,
    RESOURCES.Deployment,
    RESOURCES.StatefulSet,
  ].map(({ kind }) => kind),
);

export const isNeededByPods = ({ kind }: KubeObject): boolean => NEEDED_BY_PODS.has(kind);

interface Status {
  readonly observedGeneration?: number;
  readonly replicas?: number;
  readonly updatedReplicas?: number;
  readonly availableReplicas?: number;
}

/** Returns true when all pods of a workload have its current template and are available. */
export function isRolledOut(workload: KubeObject): boolean {
  const { replicas: desired = 1 } = (workload['spec'] ?? {}) as { readonly replicas?: number };
  const status = (workload['status'] ?? {}) as Status;
  const { observedGeneration = 0, replicas = 0, updatedReplicas = 0, availableReplicas = 0 } = status;
  if (observedGeneration < (workload.metadata.generation ?? 1)) return false;
  return replicas === desired && updatedReplicas === desired && availableReplicas >= desired;
}
