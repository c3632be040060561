import { SHARED_STATUSES } from '../../status/index.ts';
import type { KindController } from './kind-controller.ts';
import { MCP_SERVER } from './mcp-server.ts';
import { MCP_SERVER_ENTRY } from './mcp-server-entry.ts';
import { sharedObject } from './shared-object.ts';
import { VIRTUAL_MCP_SERVER } from './virtual-mcp-server.ts';

/** Controllers of every kind. A kind with a workload adds a line here; a group or config adds one in `SHARED_STATUSES`. */
export const CONTROLLERS: readonly KindController[] = [
  VIRTUAL_MCP_SERVER,
  MCP_SERVER,
  MCP_SERVER_ENTRY,
  ...Object.entries(SHARED_STATUSES).map(([kind, statusOf]) => sharedObject(kind, statusOf)),
];
