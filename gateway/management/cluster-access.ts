import type { KubeClient } from '../kube/client.ts';
import { NO_SERVER } from '../workloads/store/kubernetes/api-failure.ts';

/** Cluster that holds groups, secrets and workloads, in place of the state folder. */
export interface ClusterAccess {
  readonly client: KubeClient;
  /** Namespace of groups, secrets and new workloads. */
  readonly namespace: string;
}

/** Error of operations that, in a cluster, read or change its objects. */
export const CLUSTER_UNAVAILABLE = { engine_unavailable: { status: 503, message: NO_SERVER } } as const;
