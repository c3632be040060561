import { storeFacts } from '../../gateway/authserver/storage/index.ts';
import { pends, warns, type Claim } from './claim.ts';

interface Spec {
  readonly replicas?: number;
  readonly sessionStorage?: { readonly provider: string };
}

/** Whether sessions are lost between pods. */
export function sessionStorageClaim({ replicas = 1, sessionStorage }: Spec, isStdio = false): Claim {
  const type = 'SessionStorageWarning';
  if (replicas <= 1 || isStdio) {
    return pends(type, 'SessionStorageWarningNotApplicable', 'at most one pod has sessions');
  }
  if (storeFacts(sessionStorage?.provider).isShared) {
    return pends(type, 'SessionStorageConfigured', 'the pods share their sessions');
  }
  const message = `each of the ${String(replicas)} pods knows its own sessions only, and a client that reaches another pod has to start again: keep sessionAffinity: ClientIP, or set replicas: 1`;
  return warns(type, 'SessionStorageMissingForReplicas', message);
}
