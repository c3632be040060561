/** A revision of MCP and what differs between revisions. A member that is absent is false. */
export interface Revision {
  readonly name: string;
  /** Requests belong to no session: each names its revision, its client and the capabilities of the client. */
  readonly isSessionless?: true;
  /** A stream begins with an event without data, which lets the client reconnect at once. */
  readonly primesStreams?: true;
  /** Servers have completions and no capability for them. @see MCP 2024-11-05, server/utilities/completion */
  readonly hasUndeclaredCompletions?: true;
  /** An empty `nextCursor` is a cursor, not the end of a list. @see MCP 2026-07-28, server/utilities/pagination */
  readonly hasEmptyCursors?: true;
  /** Servers say how long a client may keep a result. */
  readonly hasCacheHints?: true;
  /** Headers repeat arguments of a tool that its schema names. @see MCP 2026-07-28, SEP-2243 */
  readonly mirrorsArguments?: true;
  /** `structuredContent` may be any JSON value, not only an object. */
  readonly hasAnyStructuredContent?: true;
  /** `subscriptions/listen` announces changes, without a session too. */
  readonly listens?: true;
}

/** Supported revisions, newest first. */
const REVISIONS: readonly Revision[] = [
  {
    name: '2026-07-28',
    isSessionless: true,
    hasEmptyCursors: true,
    hasCacheHints: true,
    mirrorsArguments: true,
    hasAnyStructuredContent: true,
    listens: true,
  },
  { name: '2025-11-25', primesStreams: true },
  { name: '2025-06-18' },
  { name: '2025-03-26' },
  { name: '2024-11-05', hasUndeclaredCompletions: true },
];

/** Names of the supported revisions, newest first. */
export const SUPPORTED_REVISIONS: readonly string[] = REVISIONS.map(({ name }) => name);

/** Those with sessions, which a client negotiates with `initialize`. */
export const SESSION_REVISIONS: readonly string[] = REVISIONS.flatMap(({ name, isSessionless }) =>
  isSessionless ? [] : [name],
);

/** Newest revision with sessions. */
export const LATEST_REVISION: string = SESSION_REVISIONS[0] ?? '';

/** Newest revision without sessions. */
export const MODERN_REVISION: string = REVISIONS.find(({ isSessionless }) => isSessionless)?.name ?? '';

const UNKNOWN: Revision = { name: '' };
const BY_NAME: ReadonlyMap<string, Revision> = new Map(REVISIONS.map((each) => [each.name, each]));
/** Found by the last look-up: most requests use the same revision, and its name is compared without a hash. */
let last: Revision = UNKNOWN;

/** Returns the row of a revision; for an unknown name a row without traits. */
export function revisionOf(name: string | undefined): Revision {
  if (name === undefined) return UNKNOWN;
  if (name === last.name) return last;
  const found = BY_NAME.get(name);
  if (found) last = found;
  return found ?? UNKNOWN;
}

/** Returns true for a supported revision without sessions. */
export const isSessionless = (name: string | undefined): boolean => revisionOf(name).isSessionless === true;

/** Keys that a request without a session carries in `params._meta`. */
export const META = {
  version: 'io.modelcontextprotocol/protocolVersion',
  client: 'io.modelcontextprotocol/clientInfo',
  capabilities: 'io.modelcontextprotocol/clientCapabilities',
  logLevel: 'io.modelcontextprotocol/logLevel',
} as const;

/** Key of the server's name and version in `_meta` of a result. */
export const SERVER_INFO = 'io.modelcontextprotocol/serverInfo';

/** Key of the id of a `subscriptions/listen` request in `_meta` of what its stream carries. */
export const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId';
