import type { KubeClient } from '../kube/client.ts';

/** Cluster that holds groups, secrets and workloads, in place of the state folder. */
export interface ClusterAccess {
  readonly client: KubeClient;
  /** Namespace of groups, secrets and new workloads. */
  readonly namespace: string;
}
