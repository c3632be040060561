import { mcpExternalAuthConfigStatus, mcpGroupStatus, mcpOIDCConfigStatus } from '../status/index.ts';
import type { KindController } from './kind-controller.ts';
import { MCP_SERVER } from './mcp-server.ts';
import { MCP_SERVER_ENTRY } from './mcp-server-entry.ts';
import { sharedObject } from './shared-object.ts';
import { VIRTUAL_MCP_SERVER } from './virtual-mcp-server.ts';

/** How each kind is reconciled. A new kind is a line here. */
export const CONTROLLERS: readonly KindController[] = [
  VIRTUAL_MCP_SERVER,
  MCP_SERVER,
  MCP_SERVER_ENTRY,
  sharedObject('MCPGroup', mcpGroupStatus),
  sharedObject('MCPOIDCConfig', mcpOIDCConfigStatus),
  sharedObject('MCPExternalAuthConfig', mcpExternalAuthConfigStatus),
];
