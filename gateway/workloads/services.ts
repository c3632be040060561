import type { RegistryEntry } from './definition/registry-entry.ts';
import type { SecretValues } from './store/local/secret-values.ts';

/** Other resources of the management API, as far as workloads need them. */
export interface WorkloadServices {
  readonly secrets: SecretValues;
  readonly hasGroup: (name: string) => Promise<boolean>;
  /** Finds a server in a registry. Returns undefined when there is no such server or registry. */
  readonly findServer: (registry: string, name: string) => Promise<RegistryEntry | undefined>;
}
