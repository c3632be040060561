import type { Catalog } from '../aggregation/catalog.ts';

/** Catalogs of the backends, for all principals or for one. */
export interface CatalogSource {
  /** Catalogs of the backends that are advertised. */
  catalogs(): Catalog[];
  /** Names of the backends whose items are missing. */
  unavailable(): string[];
  /** True when every backend has answered or has used up the time for it. */
  readonly settled: boolean;
  /** Resolves when `settled`, or after `timeoutMs`. */
  whenSettled(timeoutMs: number): Promise<void>;
}
