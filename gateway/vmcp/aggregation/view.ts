import type { UriTemplate } from './uri-template.ts';

/** The four lists that a gateway serves. `templates` is `resources/templates/list`. */
export type ListKind = 'tools' | 'resources' | 'templates' | 'prompts';

/** Where an advertised name, URI or template leads. */
export interface Route {
  readonly backend: string;
  /** The backend's own name (tool, prompt), URI or URI template. */
  readonly name: string;
  /** What lists, policy, audit and metrics call it; differs from the looked-up key only for a shortened tool name. */
  readonly advertised: string;
  /** True when `name` differs from the name a client sends: the name in `params` must be replaced. */
  readonly renamed: boolean;
  /** JSON text of `name`. */
  readonly nameJson: Buffer;
}

export interface AdvertisedItem {
  /** Advertised name, URI or URI template. */
  readonly key: string;
  readonly json: Buffer;
}

export interface AdvertisedList {
  /** Sorted by `key` in UTF-16 code unit order, keys unique. */
  readonly items: readonly AdvertisedItem[];
  /** First 16 hex digits of SHA-256 over keys and items: equal digests mean that a client sees the same list. */
  readonly digest: string;
  /** JSON text of the `result` object of the first page. */
  readonly firstPage: Buffer;
}

export interface ViewCapabilities {
  readonly tools: boolean;
  readonly prompts: boolean;
  readonly resources: boolean;
  /** `resources.subscribe`. */
  readonly resourcesSubscribe: boolean;
  readonly completions: boolean;
  readonly logging: boolean;
}

export interface TemplateRoute {
  readonly template: UriTemplate;
  readonly route: Route;
}

/** Everything one principal sees of all backends, ready to be served. Immutable. */
export interface View {
  /** By advertised name; a shortened name's full form is a second key of the same route. Hidden tools are not here. */
  readonly tools: ReadonlyMap<string, Route>;
  /** Tools that are not advertised and unknown to clients, by resolved name: for composite steps. */
  readonly hiddenTools: ReadonlyMap<string, Route>;
  readonly prompts: ReadonlyMap<string, Route>;
  /** By URI. */
  readonly resources: ReadonlyMap<string, Route>;
  /** By the text of the template. */
  readonly templates: ReadonlyMap<string, Route>;
  /** Templates that can be matched, in the order in which they are tried. */
  readonly templateRoutes: readonly TemplateRoute[];
  readonly lists: Readonly<Record<ListKind, AdvertisedList>>;
  readonly capabilities: ViewCapabilities;
  /** Backends whose items are missing, sorted. */
  readonly unavailable: readonly string[];
}

export type WarningReason =
  | 'MalformedList' // a list result without its array
  | 'MalformedItem' // null, not an object, no name
  | 'DuplicateItem' // one backend lists a name twice
  | 'ListUnavailable' // the backend declares the list and does not give it
  | 'TemplateTooLarge'
  | 'TemplateUnmatchable' // advertised, but no URI can be matched against it
  | 'ToolNameClash' // dropped: another tool has the name
  | 'PromptNameClash'
  | 'ResourceClash'
  | 'ToolFilterUnmatched'
  | 'ToolOverrideUnmatched'
  | 'UnknownWorkload'
  | 'ToolNameUnusual'; // outside 1 to 128 characters of [A-Za-z0-9_.-]

/** Something was dropped or a rule is without effect. One per reason, backend and cause, however many items it met. */
export interface Warning {
  readonly reason: WarningReason;
  readonly backend: string;
  /** One sentence for the log and the status; quotes at most five names. */
  readonly message: string;
}

/** Two or more tools under one name, which strategies `manual` and `none` leave to the user. */
export interface Conflict {
  readonly reason: 'ConflictUnresolved';
  readonly name: string;
  /** Sorted by backend, then by the backend's own tool name. */
  readonly owners: readonly { readonly backend: string; readonly tool: string }[];
  readonly message: string;
}

export interface AggregationResult {
  /** Without any tool when `conflicts` is not empty: keep the last view that had none, if there is one. */
  readonly view: View;
  readonly conflicts: readonly Conflict[];
  readonly warnings: readonly Warning[];
}
