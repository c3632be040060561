import type { Problem } from '../../contract/problem.ts';
import type { StorageConfig } from '../../contract/run-config-auth-server-storage.ts';
import { STORES } from '../storage/index.ts';
import { kvstoreFaults } from '../storage/kvstore/settings.ts';
import { invalid, missing, problem } from './problem.ts';

/** Where logins are kept. Paths start at `embedded_auth_server_config`. */
export function storageProblems(storage: StorageConfig): Problem[] {
  const type = storageTypeProblem(storage);
  if (type) return [type];
  const { kvstore_config: kvstore } = storage;
  const path = 'storage.kvstore_config';
  if (storage.type !== 'kvstore') {
    if (!kvstore) return [];
    return [problem('RuleViolated', path, 'it has no effect: set storage.type to kvstore, or remove it')];
  }
  if (!kvstore) return [missing(path, 'storage.type kvstore needs kvstore_config: say where the store is')];
  return kvstoreFaults(kvstore).map(({ member, message }) => invalid(`${path}.${member}`, message));
}

export function storageTypeProblem({ type = 'memory' }: StorageConfig): Problem | undefined {
  const known: readonly string[] = STORES.map((store) => store.type);
  return known.includes(type) ? undefined : invalid('storage.type', `must be one of ${known.join(', ')}`);
}
