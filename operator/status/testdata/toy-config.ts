import { verdict } from '../claim.ts';
import { concludeStatus, type ObjectStatus } from '../conditions.ts';
import type { SharedObjectInput } from '../input.ts';
import { deletionClaims } from '../references.ts';

/** Returns the status of a config kind as a contributor might add it. */
export function toyConfigStatus({ object, refused = [], deletion, now }: SharedObjectInput): ObjectStatus {
  const self = { kind: object.kind, name: object.metadata.name };
  const good = { reason: 'ConfigValid', message: 'it can be used' };
  const claims = [
    verdict('Valid', good, refused, () => 'ConfigInvalid', self),
    ...deletionClaims(deletion),
  ];
  return concludeStatus(object, claims, now, { ready: refused.length === 0 });
}
