import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { hostVariablesFolder, type Mount } from '../resolve/scope.ts';
import type { SecretValues } from '../source/files/file-values.ts';
import { pruneSecrets, writePrivateFile, writeSecrets, type SecretKey } from './secrets.ts';

const secretKey = ({ kind, namespace, name, key }: Mount): SecretKey => ({
  namespace,
  secret: kind === 'HostVariable' ? hostVariablesFolder(name) : name,
  key,
});

/** Writes every file that the configurations name. */
export async function writeMounts(mounts: readonly Mount[], values: SecretValues, stateDir: string): Promise<void> {
  for (const mount of mounts) {
    const value = await values.read(mount);
    if (value === undefined) {
      throw new Error(`${mount.kind} ${mount.namespace}/${mount.name} lost its key "${mount.key}" while starting`);
    }
    if (mount.kind === 'ConfigMap') {
      await mkdir(dirname(mount.path), { recursive: true, mode: 0o700 });
      await writePrivateFile(mount.path, value);
    } else await writeSecrets(stateDir, [{ ...secretKey(mount), value }]);
  }
}

/** Removes Secrets and host variables that no configuration names. Call it when nothing reads them any more. */
export const pruneMounts = (mounts: readonly Mount[], stateDir: string): Promise<void> =>
  pruneSecrets(stateDir, mounts.filter(({ kind }) => kind !== 'ConfigMap').map(secretKey));
