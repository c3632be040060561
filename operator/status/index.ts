export type { ObjectStatus } from './conditions.ts';
export { mcpExternalAuthConfigStatus } from './mcp-external-auth-config.ts';
export { mcpGroupStatus } from './mcp-group.ts';
export { mcpOIDCConfigStatus } from './mcp-oidc-config.ts';
export { mcpServerEntryStatus } from './mcp-server-entry.ts';
export { mcpServerStatus } from './mcp-server.ts';
export { sameStatus } from './same-status.ts';
export { virtualMCPServerStatus } from './virtual-mcp-server.ts';
export type { ObservedWorkload } from './workload.ts';
