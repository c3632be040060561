import { checkMCPExternalAuthConfig } from '../resolve/objects.ts';
import type { ObjectProblem } from '../resolve/problems.ts';
import { adviceClaims, fails, verdict, type Claim } from './claim.ts';
import { CLUSTER_PLATFORM } from '../render/options.ts';
import { concludeStatus, type ObjectStatus } from './conditions.ts';
import { digest } from './digest.ts';
import { problemsMessage, type Self } from './message.ts';
import { deletionClaims } from './references.ts';
import type { SharedObjectInput } from './input.ts';

export function mcpExternalAuthConfigStatus(input: SharedObjectInput): ObjectStatus {
  const { object, snapshot, refused = [], deletion, now } = input;
  const self = { kind: object.kind, name: object.metadata.name };
  const config = snapshot.externalAuthConfigs.get(self.name);
  const found = config
    ? checkMCPExternalAuthConfig(config, snapshot, CLUSTER_PLATFORM)
    : { problems: [], warnings: [] };
  const claims = [
    validity(refused, found.problems, self),
    ...adviceClaims(found.warnings, self),
    ...deletionClaims(deletion),
  ];
  return concludeStatus(object, claims, now, {
    ready: refused.length + found.problems.length === 0,
    configHash: digest(object['spec'] ?? null),
  });
}

/** Refused: not an object of this kind at all. Invalid: well formed, and of no use here. */
export const REFUSED = 'ValidationFailed';
export const INVALID = 'InvalidConfig';

function validity(refused: readonly ObjectProblem[], problems: readonly ObjectProblem[], self: Self): Claim {
  if (refused.length > 0) return fails('Valid', REFUSED, problemsMessage(refused, self));
  const good = { reason: 'ValidationSucceeded', message: 'it can be used' };
  return verdict('Valid', good, problems, () => INVALID, self);
}
