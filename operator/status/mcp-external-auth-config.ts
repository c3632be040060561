import { checkMCPExternalAuthConfig } from '../resolve/objects.ts';
import type { ObjectProblem } from '../resolve/problems.ts';
import { advisoryConditions, failedCondition, validityCondition, type ConditionState } from './condition-state.ts';
import { CLUSTER_PLATFORM } from '../render/options.ts';
import { buildStatus, type ObjectStatus } from './conditions.ts';
import { digest } from './digest.ts';
import { problemsMessage, type Self } from './message.ts';
import { deletionConditions } from './references.ts';
import type { SharedObjectInput } from './input.ts';

export function mcpExternalAuthConfigStatus(input: SharedObjectInput): ObjectStatus {
  const { object, snapshot, refused = [], deletion, now } = input;
  const self = { kind: object.kind, name: object.metadata.name };
  const config = snapshot.externalAuthConfigs.get(self.name);
  const found = config
    ? checkMCPExternalAuthConfig(config, snapshot, CLUSTER_PLATFORM)
    : { problems: [], warnings: [] };
  const states = [
    validity(refused, found.problems, self),
    ...advisoryConditions(found.warnings, self),
    ...deletionConditions(deletion),
  ];
  return buildStatus(object, states, now, {
    ready: refused.length + found.problems.length === 0,
    configHash: digest(object['spec'] ?? null),
  });
}

/** Reason of an object that the schema rejects, and of one that is well formed but unusable here. */
export const REFUSED = 'ValidationFailed';
export const INVALID = 'InvalidConfig';

function validity(refused: readonly ObjectProblem[], problems: readonly ObjectProblem[], self: Self): ConditionState {
  if (refused.length > 0) return failedCondition('Valid', REFUSED, problemsMessage(refused, self));
  const good = { reason: 'ValidationSucceeded', message: 'the config can be used' };
  return validityCondition('Valid', good, problems, () => INVALID, self);
}
