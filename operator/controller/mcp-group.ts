import { mcpGroupStatus } from '../status/index.ts';
import type { KindController } from './kind-controller.ts';

/** A group makes nothing: it says who belongs to it. */
export const MCP_GROUP: KindController = {
  kind: 'MCPGroup',
  decide: ({ object, snapshot, problems, blockedBy, now }) => ({
    say: () =>
      mcpGroupStatus({
        object,
        snapshot,
        refused: problems,
        deletion: { referencedBy: blockedBy, deleting: blockedBy.length > 0 },
        now,
      }),
  }),
};
