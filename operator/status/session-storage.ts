import type { ObjectProblem } from '../resolve/scope.ts';
import { replicasShareSessions, unsharedSessions, replicasOf } from '../resolve/replicas.ts';
import type { MCPServer, VirtualMCPServer } from '../resolve/snapshot.ts';
import type { Rollout } from './pods.ts';
import { falseCondition, warningCondition, type ConditionState } from './conditions.ts';

const TYPE = 'SessionStorageWarning';
const MISSING = 'SessionStorageMissingForReplicas';
const NOT_APPLICABLE = falseCondition(TYPE, 'SessionStorageWarningNotApplicable', 'at most one pod serves sessions');

/** Returns true for a warning that `SessionStorageWarning` repeats. */
export const isAboutSessions = ({ reason }: ObjectProblem): boolean => reason === MISSING;

/** Builds the warning for several gateways that do not share their sessions. The spec or an autoscaler sets their number. */
export function sessionStorageCondition(spec: VirtualMCPServer['spec'], rollout: Rollout | undefined): ConditionState {
  const replicas = spec.replicas ?? rollout?.desired ?? 1;
  if (replicas <= 1) return NOT_APPLICABLE;
  if (replicasShareSessions(spec))
    return falseCondition(TYPE, 'SessionStorageConfigured', 'all pods share the sessions');
  return warningCondition(TYPE, MISSING, unsharedSessions(replicas));
}

/** Builds the warning for several pods of one server: each has its own sessions. */
export function serverSessionsCondition(
  spec: MCPServer['spec'],
  isStdio: boolean,
  rollout: Rollout | undefined,
): ConditionState {
  const replicas = replicasOf(spec) ?? rollout?.desired ?? 1;
  if (replicas <= 1 || isStdio) return NOT_APPLICABLE;
  const message = `each of the ${String(replicas)} pods knows only its own sessions, and a client that reaches another pod must start a new one: keep sessionAffinity: ClientIP, or set replicas: 1`;
  return warningCondition(TYPE, MISSING, message);
}
