import { mcpExternalAuthConfigStatus } from '../status/index.ts';
import type { KindController } from './kind-controller.ts';

/** A shared configuration makes nothing: it says whether it can be used. */
export const MCP_EXTERNAL_AUTH_CONFIG: KindController = {
  kind: 'MCPExternalAuthConfig',
  decide: ({ object, snapshot, problems, blockedBy, now }) => ({
    say: () =>
      mcpExternalAuthConfigStatus({
        object,
        snapshot,
        refused: problems,
        deletion: { referencedBy: blockedBy, deleting: blockedBy.length > 0 },
        now,
      }),
  }),
};
