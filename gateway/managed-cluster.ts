import type { Logger } from './contract/logger.ts';
import { KubeClient } from './kube/client.ts';
import type { Connection } from './kube/connection.ts';
import type { ClusterAccess } from './management/cluster-access.ts';
import type { WorkloadServices } from './workloads/services.ts';
import { ClusterWorkloads } from './workloads/store/kubernetes/cluster-workloads.ts';

/** Cluster whose workloads the management API manages. */
export interface ManagedCluster {
  readonly connection: Connection;
  /** Served namespaces. New workloads live in the first one. */
  readonly namespaces: readonly [string, ...string[]];
}

/** Opens a cluster for the management API. The owner closes the client. */
export function openCluster(
  { connection, namespaces }: ManagedCluster,
  { now, log }: { /** ms since the epoch. */ readonly now: () => number; readonly log: Logger },
): ClusterAccess & { readonly workloads: (services: WorkloadServices) => ClusterWorkloads } {
  const client = new KubeClient(connection);
  const clocks = { now, monotonicNow: () => performance.now(), random: Math.random };
  return {
    client,
    namespace: namespaces[0],
    workloads: ({ findServer }) => new ClusterWorkloads({ client, namespaces, findServer, ...clocks, log }),
  };
}
