import type { StorageConfig } from '../../../gateway/contract/run-config/auth-server-storage.ts';
import { resolveStore, storeOf, STORES } from '../../../gateway/authserver/storage/index.ts';
import type { StoreScope } from '../../../gateway/authserver/storage/variant.ts';
import { reportUnshared } from '../replicas.ts';
import type { Scope } from '../scope.ts';
import { AUTH_SERVER_PATH, type AuthServerSpec } from './spec.ts';

const PATH = `${AUTH_SERVER_PATH}.storage`;

/** Resolves the store of the authorization server. */
export function resolveStorage({ storage = {} }: AuthServerSpec, scope: Scope): StorageConfig {
  if (scope.platform.mode === 'cluster') checkPods(storage, scope);
  return resolveStore(storage, (member) => storeScope(`${PATH}.${member}`, scope));
}

/** Checks that the store outlives a pod, and that all pods share it. */
function checkPods(storage: NonNullable<AuthServerSpec['storage']>, scope: Scope): void {
  const report = scope.on(scope.vmcp);
  const { isShared, survivesRestart } = storeOf(storage);
  if (!survivesRestart) {
    const message = `a restart of the pod loses every login and every registered client: ${adviceFor('survivesRestart')}`;
    report.warning('EphemeralStorage', PATH, message);
  }
  if (isShared) return;
  const consequence = (): string => 'logins in the memory of one pod are not available to the other pods';
  reportUnshared({ consequence, advice: `${adviceFor('isShared')} in authServerConfig` }, scope);
}

const adviceFor = (fact: 'isShared' | 'survivesRestart'): string =>
  `set storage.type: ${STORES.filter((store) => store[fact])
    .map(({ type }) => type)
    .join(' or ')}`;

function storeScope(path: string, scope: Scope): StoreScope {
  const report = scope.on(scope.vmcp);
  return {
    namespace: scope.snapshot.namespace,
    name: scope.storeName,
    mode: scope.platform.mode,
    secretFile: ({ name, key }) => scope.mount('Secret', name, key),
    problem: (problem) => report.problem(problem.reason, `${path}.${problem.path}`, problem.message),
    warning: (problem) => report.warning(problem.reason, `${path}.${problem.path}`, problem.message),
  };
}
