import type { ObjectStatus } from './conditions.ts';
import type { SharedObjectInput } from './input.ts';
import {
  mcpAuthzConfigStatus,
  mcpExternalAuthConfigStatus,
  mcpOIDCConfigStatus,
  mcpTelemetryConfigStatus,
  mcpToolConfigStatus,
  mcpWebhookConfigStatus,
} from './config-status.ts';
import { mcpGroupStatus } from './mcp-group.ts';

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
export type { ObservedWorkload } from './pods.ts';
