import type { RegistryEntry } from './definition/entry/registry-entry.ts';
import type { SecretValues } from './store/local/secret-values.ts';

/** MCP endpoint of a workload, and the group whose clients use it. */
export interface WorkloadEndpoint {
  readonly name: string;
  readonly url: string;
  readonly group: string;
}

/** Keeps the entries of workloads in the configuration files of MCP clients. Both resolve with problems, as sentences. */
export interface EndpointDirectory {
  publish(endpoint: WorkloadEndpoint): Promise<readonly string[]>;
  withdraw(endpoint: WorkloadEndpoint): Promise<readonly string[]>;
}

/** Other resources of the management API, as far as workloads need them. */
export interface WorkloadServices {
  readonly secrets: SecretValues;
  readonly directory: EndpointDirectory;
  readonly hasGroup: (name: string) => Promise<boolean>;
  /** Finds a server in a registry. Returns undefined when there is no such server or registry. */
  readonly findServer: (registry: string, name: string) => Promise<RegistryEntry | undefined>;
}
