import type { KindController } from './kind-controller.ts';
import { MCP_EXTERNAL_AUTH_CONFIG } from './mcp-external-auth-config.ts';
import { MCP_GROUP } from './mcp-group.ts';
import { MCP_OIDC_CONFIG } from './mcp-oidc-config.ts';
import { MCP_SERVER } from './mcp-server.ts';
import { MCP_SERVER_ENTRY } from './mcp-server-entry.ts';
import { VIRTUAL_MCP_SERVER } from './virtual-mcp-server.ts';

/** How each kind is reconciled. A new kind is a line here. */
export const CONTROLLERS: readonly KindController[] = [
  VIRTUAL_MCP_SERVER,
  MCP_SERVER,
  MCP_SERVER_ENTRY,
  MCP_GROUP,
  MCP_OIDC_CONFIG,
  MCP_EXTERNAL_AUTH_CONFIG,
];
