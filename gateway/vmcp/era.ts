/** First revision without sessions: each request names its revision, its client and the capabilities of the client. */
export const MODERN_REVISION = '2026-07-28';

/** Returns true for a revision without sessions. */
export const isModern = (revision: string | undefined): boolean => revision === MODERN_REVISION;

/** Keys that a request without a session carries in `params._meta`. */
export const META = {
  version: 'io.modelcontextprotocol/protocolVersion',
  client: 'io.modelcontextprotocol/clientInfo',
  capabilities: 'io.modelcontextprotocol/clientCapabilities',
  logLevel: 'io.modelcontextprotocol/logLevel',
} as const;

/** Member of `params` that the header `Mcp-Name` repeats, by method. @see MCP 2026-07-28, SEP-2243, SEP-2663 */
const NAME_MEMBERS: ReadonlyMap<string, 'name' | 'uri' | 'taskId'> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
]);

/** Returns the member that `Mcp-Name` repeats; undefined for a method without that header. */
export const nameMemberOf = (method: string): 'name' | 'uri' | 'taskId' | undefined => NAME_MEMBERS.get(method);

/** Key of the server's name and version in `_meta` of a result. */
export const SERVER_INFO = 'io.modelcontextprotocol/serverInfo';

/** Key of the id of a `subscriptions/listen` request in `_meta` of what its stream carries. */
export const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId';
