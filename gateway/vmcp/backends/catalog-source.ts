import type { Catalog } from '../aggregation/catalog.ts';

/** What the backends offer, to everyone or to one principal. */
export interface CatalogSource {
  /** Catalogs of the backends that are advertised. */
  catalogs(): Catalog[];
  /** Names of the backends whose items are missing. */
  unavailable(): string[];
  /** Every backend has answered or was given the time to. */
  readonly settled: boolean;
  /** Resolves when `settled`, or after `timeoutMs`. */
  whenSettled(timeoutMs: number): Promise<void>;
}
