/** JSON-RPC and MCP error codes. */
export const CODE = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  resourceNotFound: -32002,
  urlRequired: -32042,
  timeout: -32001,
  reauthenticate: -32001,
  denied: -32003,
  rateLimited: 429,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
} as const;
