import type { RegistryCatalog } from '../document/catalog.ts';
import type { SourceType } from '../schema/registry.ts';
import type { Request } from './request.ts';

/** Result of reading a registry. */
export interface RegistryReading {
  readonly catalog: RegistryCatalog;
  /** Validator of the document, for a conditional request. */
  readonly etag?: string | undefined;
}

/** Dependencies of one reading. */
interface ReadingDeps {
  /** Sends GET requests, with the credential of the registry. */
  readonly request: Request;
  /** RFC 3339. */
  readonly readAt: string;
  /** Earlier reading of the same location. */
  readonly known?: RegistryReading | undefined;
}

/** One kind of registry. */
export interface RegistrySource {
  readonly type: SourceType;
  /** True: reading sends requests, which may need a login, and the result is cached for an hour. */
  readonly isRemote: boolean;
  /** Reads the whole registry. Throws `RegistryFault`. */
  readonly read: (location: string, deps: ReadingDeps) => Promise<RegistryReading>;
}
