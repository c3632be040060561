/** How a test on this machine reaches a cluster that is up. */
export interface Reach {
  readonly kubeconfig: string;
  /** An address of this machine at which pods reach what listens on it. */
  readonly hostAddress: string;
  readonly nodeAddress: string;
}

/** A way to have a Kubernetes cluster with a node here. From this machine its ClusterIPs can be reached. */
export interface Platform {
  readonly name: PlatformName;
  /** Why it cannot be had on this machine; undefined when it can. */
  impossible(): Promise<string | undefined>;
  /** What runs under it: `bare node, cgroup v1`. */
  describe(): Promise<string>;
  up(): Promise<Reach>;
  load(archives: readonly string[]): Promise<void>;
  /** Writes what the daemons and containers said below a folder. */
  saveLogs(folder: string): Promise<void>;
  down(): Promise<void>;
}

export type PlatformName = 'node' | 'kind';

/** What a run on one platform says nothing about. */
export const ALL_GROUNDS = ['bare node on cgroup v1', 'kind on cgroup v1', 'kind on cgroup v2'] as const;
