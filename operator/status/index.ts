import type { ObjectStatus } from './conditions.ts';
import type { SharedObjectInput } from './input.ts';
import { mcpAuthzConfigStatus } from './mcp-authz-config.ts';
import { mcpExternalAuthConfigStatus } from './mcp-external-auth-config.ts';
import { mcpGroupStatus } from './mcp-group.ts';
import { mcpOIDCConfigStatus } from './mcp-oidc-config.ts';
import { mcpTelemetryConfigStatus } from './mcp-telemetry-config.ts';
import { mcpToolConfigStatus } from './mcp-tool-config.ts';
import { mcpWebhookConfigStatus } from './mcp-webhook-config.ts';

/** Statuses of the kinds that others refer to. */
export const SHARED_STATUSES: Readonly<Record<string, (input: SharedObjectInput) => ObjectStatus>> = {
  MCPGroup: mcpGroupStatus,
  MCPOIDCConfig: mcpOIDCConfigStatus,
  MCPExternalAuthConfig: mcpExternalAuthConfigStatus,
  MCPAuthzConfig: mcpAuthzConfigStatus,
  MCPTelemetryConfig: mcpTelemetryConfigStatus,
  MCPWebhookConfig: mcpWebhookConfigStatus,
  MCPToolConfig: mcpToolConfigStatus,
};

export type { ObjectStatus } from './conditions.ts';
export type { SharedObjectInput } from './input.ts';
export { mcpServerEntryStatus } from './mcp-server-entry.ts';
export { mcpServerStatus } from './mcp-server.ts';
export { sameStatus } from './same-status.ts';
export { virtualMCPServerStatus } from './virtual-mcp-server.ts';
export type { ObservedWorkload } from './pods/workload.ts';
