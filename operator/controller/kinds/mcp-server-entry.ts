import { mcpServerEntryStatus } from '../../status/index.ts';
import type { KindController } from './kind-controller.ts';

/** Writes the status of an entry: whether gateways can use it. An entry has no objects of its own. */
export const MCP_SERVER_ENTRY: KindController = {
  kind: 'MCPServerEntry',
  decide: ({ object, snapshot, problems, now }) => ({
    statusOf: () => mcpServerEntryStatus({ object, snapshot, refused: problems, now }),
  }),
};
