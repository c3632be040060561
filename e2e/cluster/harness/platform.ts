/** Addresses of a running cluster. */
export interface Reach {
  readonly kubeconfig: string;
  /** An address of this machine that pods can reach. */
  readonly hostAddress: string;
  readonly nodeAddress: string;
}

/** A kind of Kubernetes cluster with a node on this machine, which can reach its ClusterIPs. */
export interface Platform {
  readonly name: PlatformName;
  /** Returns the reason why this machine cannot run the cluster; undefined when it can. */
  impossible(): Promise<string | undefined>;
  /** Returns a description such as `bare node, cgroup v1`. */
  describe(): Promise<string>;
  up(): Promise<Reach>;
  load(archives: readonly string[]): Promise<void>;
  /** Writes the logs of the daemons and containers to a folder. */
  saveLogs(folder: string): Promise<void>;
  down(): Promise<void>;
}

export type PlatformName = 'node' | 'kind';

/** Descriptions of all platforms, to list those that a run did not test. */
export const ALL_GROUNDS = ['bare node on cgroup v1', 'kind on cgroup v1', 'kind on cgroup v2'] as const;
