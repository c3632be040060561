import { mcpOIDCConfigStatus } from '../status/index.ts';
import type { KindController } from './kind-controller.ts';

/** A shared configuration makes nothing: it says whether it can be used. */
export const MCP_OIDC_CONFIG: KindController = {
  kind: 'MCPOIDCConfig',
  decide: ({ object, snapshot, problems, blockedBy, now }) => ({
    say: () =>
      mcpOIDCConfigStatus({
        object,
        snapshot,
        refused: problems,
        deletion: { referencedBy: blockedBy, deleting: blockedBy.length > 0 },
        now,
      }),
  }),
};
