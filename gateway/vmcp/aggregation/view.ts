import type { CacheHint } from './cache-hint.ts';
import type { UriTemplate } from './uri-template.ts';

/** The four lists of a gateway. `templates` is `resources/templates/list`. */
export type ListKind = 'tools' | 'resources' | 'templates' | 'prompts';

/** Lists that clients page through. `skills` is that of the Skills extension (SEP-2640). */
export const PAGED_KINDS = ['tools', 'resources', 'templates', 'prompts', 'skills'] as const;
export type PagedKind = (typeof PAGED_KINDS)[number];

/** Destination of an advertised name, URI or template. */
export interface Route {
  readonly kind: ListKind;
  readonly backend: string;
  /** Name of the tool or prompt at the backend, or URI or URI template. */
  readonly name: string;
  /**
   * Name in lists, policies, audit and metrics. Differs from the key of the route only for the full form of a shortened
   * tool name, and for the URI of a renamed resource at its backend.
   */
  readonly advertised: string;
  /** True when the name that clients send must be replaced by `name`. */
  readonly renamed: boolean;
  /** JSON text of `name`. */
  readonly nameJson: Buffer;
  /** JSON text of the item as advertised. */
  readonly json: Buffer;
}

export interface AdvertisedItem {
  /** Advertised name, URI or URI template. */
  readonly key: string;
  readonly json: Buffer;
}

export interface AdvertisedList {
  /** Sorted by `key` in UTF-16 code unit order, keys unique. */
  readonly items: readonly AdvertisedItem[];
  /** First 16 hex digits of the SHA-256 of all items; equal digests mean equal lists. */
  readonly digest: string;
  /** JSON text of the `result` object of the first page. */
  readonly firstPage: Buffer;
}

/** Settings of one extension, as a client or a server declares it. */
export type ExtensionSettings = Readonly<Record<string, unknown>>;

export interface ViewCapabilities {
  readonly tools: boolean;
  readonly prompts: boolean;
  readonly resources: boolean;
  readonly completions: boolean;
  readonly logging: boolean;
  /** Settings of the extensions that a backend offers, by identifier. @see SEP-2133 */
  readonly extensions: Readonly<Record<string, ExtensionSettings>>;
}

/** Backend whose skills are served. */
export interface SkillServer {
  readonly backend: string;
  /** True when it serves `resources/directory/read`. */
  readonly directoryRead: boolean;
}

export interface TemplateRoute {
  readonly template: UriTemplate;
  readonly route: Route;
}

/** Instructions of backends for the model, each under the name of its backend. */
export interface Instructions {
  /** By backend, sorted, without those that are empty. */
  readonly texts: ReadonlyMap<string, string>;
  /** The sections in one text; undefined without instructions. */
  readonly merged: string | undefined;
}

/** All items of all backends for one principal, prepared for serving. Immutable. */
export interface View {
  /**
   * By advertised name. The full form of a shortened name is a second key of the same route. Contains no hidden tools.
   */
  readonly tools: ReadonlyMap<string, Route>;
  /** Tools that clients cannot see or call, by resolved name, for composite steps. */
  readonly hiddenTools: ReadonlyMap<string, Route>;
  readonly prompts: ReadonlyMap<string, Route>;
  /**
   * By URI. Also routes of resources that no list has, and second keys of renamed ones: their URIs at the backend.
   */
  readonly resources: ReadonlyMap<string, Route>;
  /** By the text of the template. */
  readonly templates: ReadonlyMap<string, Route>;
  /** Templates that can be matched, in matching order. */
  readonly templateRoutes: readonly TemplateRoute[];
  /** By `skill://BACKEND` for the `skill` URIs of a backend, and by the directory of each of its skills with another scheme. */
  readonly skillServers: ReadonlyMap<string, SkillServer>;
  readonly lists: Readonly<Record<PagedKind, AdvertisedList>>;
  /** Time for which clients may keep each list. */
  readonly hints: Readonly<Record<PagedKind, CacheHint>>;
  readonly capabilities: ViewCapabilities;
  readonly instructions: Instructions;
  /** Backends whose items are missing, sorted. */
  readonly unavailable: readonly string[];
}

export type WarningReason =
  | 'MalformedList' // a list result without its array
  | 'MalformedItem' // dropped: null, not an object, no name, or nothing that clients can read
  | 'ItemRepaired' // served without a member that clients reject, or with another value
  | 'ResultRepaired' // forwarded without a member that clients reject, or with another value
  | 'InstructionsCut' // longer than the share of their backend
  | 'DuplicateItem' // one backend lists a name twice
  | 'ListUnavailable' // the backend declares the list but does not return it
  | 'ToolHeaderInvalid' // dropped: its inputSchema declares headers that no request can have
  | 'TemplateTooLarge'
  | 'TemplateUnmatchable' // advertised, but matches no URI
  | 'ToolNameClash' // dropped: another tool uses the name
  | 'PromptNameClash'
  | 'ResourceClash'
  | 'ToolFilterUnmatched'
  | 'ToolOverrideUnmatched'
  | 'UnknownWorkload'
  | 'CapabilityNotServed'
  | 'ToolNameUnusual'; // outside 1 to 128 characters of [A-Za-z0-9_.-]

/** A dropped item or a rule without effect. One per reason, backend and cause, for any number of items. */
export interface Warning {
  readonly reason: WarningReason;
  readonly backend: string;
  /** One sentence for the log and the status; quotes at most five names. */
  readonly message: string;
}

/** A sentence about tools that are served, but that some clients cannot use. */
export interface Advice {
  readonly reason: 'ToolsNotPortable';
  readonly message: string;
}

/** Two or more tools with one name, which strategies `manual` and `none` do not resolve. */
export interface Conflict {
  readonly reason: 'ConflictUnresolved';
  readonly name: string;
  /** Sorted by backend, then by the tool name at the backend. */
  readonly owners: readonly { readonly backend: string; readonly tool: string }[];
  readonly message: string;
}

export interface AggregationResult {
  /** Has no tools when there are `conflicts`: then the last view without conflicts stays in use, if there is one. */
  readonly view: View;
  readonly conflicts: readonly Conflict[];
  readonly warnings: readonly Warning[];
  readonly advice: readonly Advice[];
}
