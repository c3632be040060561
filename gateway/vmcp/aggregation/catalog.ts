import type { CacheHint } from './cache-hint.ts';
import type { PagedKind, Warning } from './view.ts';

/** One tool, resource, template or prompt of a backend. */
export interface ListItem {
  /** Name, URI or URI template. */
  readonly key: string;
  /** JSON text of the item, byte for byte as received. */
  readonly json: Buffer;
}

/** All items that one backend lists for one principal. */
export interface Catalog {
  readonly backend: string;
  readonly tools: readonly ListItem[];
  readonly resources: readonly ListItem[];
  readonly templates: readonly ListItem[];
  readonly prompts: readonly ListItem[];
  /** Skills under their advertised URIs; undefined when the backend does not offer the extension. */
  readonly skills?: readonly ListItem[] | undefined;
  /** `capabilities` in the backend's `initialize` result. */
  readonly capabilities: Readonly<Record<string, unknown>>;
  /** Revision that the backend speaks with the gateway. */
  readonly revision?: string | undefined;
  /** Text for the model about the use of this backend. */
  readonly instructions?: string | undefined;
  /** Problems of the lists. */
  readonly warnings?: readonly Warning[];
  /** Hints of the lists that have one. */
  readonly hints?: Readonly<Partial<Record<PagedKind, CacheHint>>>;
}
