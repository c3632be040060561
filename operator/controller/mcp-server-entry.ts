import { mcpServerEntryStatus } from '../status/index.ts';
import type { KindController } from './kind-controller.ts';

/** An entry makes nothing: it says whether gateways can use it. */
export const MCP_SERVER_ENTRY: KindController = {
  kind: 'MCPServerEntry',
  decide: ({ object, snapshot, problems, now }) => ({
    say: () => mcpServerEntryStatus({ object, snapshot, refused: problems, now }),
  }),
};
