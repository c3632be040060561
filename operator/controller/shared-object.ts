import type { ObjectStatus, SharedObjectInput } from '../status/index.ts';
import type { KindController } from './kind-controller.ts';

/** A kind that others refer to. It makes nothing: it says whether it can be used, and who keeps it from going. */
export const sharedObject = (kind: string, statusOf: (input: SharedObjectInput) => ObjectStatus): KindController => ({
  kind,
  decide: ({ object, snapshot, problems, blockedBy, now }) => ({
    say: () =>
      statusOf({
        object,
        snapshot,
        refused: problems,
        deletion: { referencedBy: blockedBy, deleting: blockedBy.length > 0 },
        now,
      }),
  }),
});
