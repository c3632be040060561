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

/** Key of the server's name and version in `_meta` of a result. */
export const SERVER_INFO = 'io.modelcontextprotocol/serverInfo';

/** Key of the id of a `subscriptions/listen` request in `_meta` of what its stream carries. */
export const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId';
