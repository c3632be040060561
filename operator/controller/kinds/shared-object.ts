import type { ObjectStatus, SharedObjectInput } from '../../status/index.ts';
import type { KindController } from './kind-controller.ts';

/** Returns the controller of a kind that others refer to. It writes whether the object is valid and what blocks its deletion. */
export const sharedObject = (
  kind: string,
  sharedStatus: (input: SharedObjectInput) => ObjectStatus,
): KindController => ({
  kind,
  reportsDeletion: true,
  decide: ({ object, snapshot, problems, blockedBy, now }) => ({
    statusOf: () =>
      sharedStatus({
        object,
        snapshot,
        refused: problems,
        deletion: { referencedBy: blockedBy, deleting: blockedBy.length > 0 },
        now,
      }),
  }),
});
