import { storeFacts } from '../../gateway/authserver/storage/index.ts';
import { falseCondition, warningCondition, type ConditionState } from './condition-state.ts';

interface Spec {
  readonly replicas?: number;
  readonly sessionStorage?: { readonly provider: string };
}

/** Builds the warning for several pods without shared session storage. */
export function sessionStorageCondition({ replicas = 1, sessionStorage }: Spec, isStdio = false): ConditionState {
  const type = 'SessionStorageWarning';
  if (replicas <= 1 || isStdio) {
    return falseCondition(type, 'SessionStorageWarningNotApplicable', 'at most one pod serves sessions');
  }
  if (storeFacts(sessionStorage?.provider).isShared) {
    return falseCondition(type, 'SessionStorageConfigured', 'the pods share their sessions');
  }
  const message = `each of the ${String(replicas)} pods knows only its own sessions, and a client that reaches another pod must start a new one: keep sessionAffinity: ClientIP, or set replicas: 1`;
  return warningCondition(type, 'SessionStorageMissingForReplicas', message);
}
