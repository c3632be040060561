import { falseCondition, warningCondition, type ConditionState } from './condition-state.ts';

interface Spec {
  readonly replicas?: number;
}

/** Builds the warning for several pods: they do not share sessions. */
export function sessionStorageCondition({ replicas = 1 }: Spec, isStdio = false): ConditionState {
  const type = 'SessionStorageWarning';
  if (replicas <= 1 || isStdio) {
    return falseCondition(type, 'SessionStorageWarningNotApplicable', 'at most one pod serves sessions');
  }
  const message = `each of the ${String(replicas)} pods knows only its own sessions, and a client that reaches another pod must start a new one: keep sessionAffinity: ClientIP, or set replicas: 1`;
  return warningCondition(type, 'SessionStorageMissingForReplicas', message);
}
