import { storeFacts } from '../../gateway/authserver/storage/index.ts';
import type { Scope } from './scope.ts';

/** Warns when there are several replicas without shared session storage. */
export function checkSessions(scope: Scope): void {
  const { platform, vmcp } = scope;
  const { replicas = 1, sessionStorage } = vmcp.spec;
  if (platform.mode === 'local' || replicas <= 1 || storeFacts(sessionStorage?.provider).isShared) return;
  const message = `each of the ${String(replicas)} pods knows only its own sessions, and a client that reaches another pod must start a new one: keep sessionAffinity: ClientIP, or set replicas: 1`;
  scope.on(vmcp).warning('SessionStorageMissingForReplicas', 'spec.replicas', message);
}
