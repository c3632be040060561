import { validityCondition, buildStatus, type ObjectStatus } from '../conditions.ts';
import type { SharedObjectInput } from '../input.ts';
import { deletionConditions } from '../references.ts';

/** Returns the status of a config kind as a contributor might add it. */
export function toyConfigStatus({ object, refused = [], deletion, now }: SharedObjectInput): ObjectStatus {
  const self = { kind: object.kind, name: object.metadata.name };
  const good = { reason: 'ConfigValid', message: 'it can be used' };
  const states = [
    validityCondition('Valid', good, refused, () => 'ConfigInvalid', self),
    ...deletionConditions(deletion),
  ];
  return buildStatus(object, states, now, { ready: refused.length === 0 });
}
