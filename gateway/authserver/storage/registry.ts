import type { StorageConfig } from '../../contract/run-config-auth-server-storage.ts';
import type { StoreBackend, StoreDeps } from './backend.ts';
import type { Store } from './store.ts';

/** What is done with a backend by its name. */
export function storeRegistry(backends: readonly StoreBackend[]) {
  const backendOf = ({ type = 'memory' }: StorageConfig): StoreBackend => {
    const backend = backends.find((candidate) => candidate.type === type);
    if (!backend) throw new Error(`storage.type must be one of ${backends.map((known) => known.type).join(', ')}`);
    return backend;
  };
  return {
    /** @throws Error a sentence that says what in the configuration cannot be used. */
    openStore: async (config: StorageConfig, deps: StoreDeps): Promise<Store> => backendOf(config).open(config, deps),
    isShared: (config: StorageConfig): boolean => backendOf(config).shared,
  };
}
