import { MCPAuthzConfig } from './mcp-authz-config.ts';
import { MCPExternalAuthConfig } from './mcp-external-auth-config.ts';
import { MCPGroup } from './mcp-group.ts';
import { MCPOIDCConfig } from './mcp-oidc-config.ts';
import { MCPServer } from './mcp-server.ts';
import { MCPServerEntry } from './mcp-server-entry.ts';
import { MCPTelemetryConfig } from './mcp-telemetry-config.ts';
import { MCPToolConfig } from './mcp-tool-config.ts';
import { MCPWebhookConfig } from './mcp-webhook-config.ts';
import { VirtualMCPServer } from './virtual-mcp-server.ts';

/** Every kind of `vmcp.dev/v1alpha1`. */
export const KINDS = [
  VirtualMCPServer,
  MCPServer,
  MCPServerEntry,
  MCPGroup,
  MCPOIDCConfig,
  MCPExternalAuthConfig,
  MCPAuthzConfig,
  MCPTelemetryConfig,
  MCPWebhookConfig,
  MCPToolConfig,
] as const;
