import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Mount } from '../../resolve/scope.ts';
import type { SecretValues } from '../../source/files/file-values.ts';
import { pruneSecrets, writeSecrets, type SecretValue } from './secrets.ts';

/** Puts every file that the configurations name in its place, and removes Secrets that none names any more. */
export async function writeMounts(mounts: readonly Mount[], values: SecretValues, stateDir: string): Promise<void> {
  const secrets: SecretValue[] = [];
  for (const mount of mounts) {
    const value = await values.read(mount);
    if (value === undefined)
      throw new Error(`${mount.kind} ${mount.namespace}/${mount.name} lost its key "${mount.key}" while starting`);
    if (mount.kind === 'Secret') {
      secrets.push({
        namespace: mount.namespace,
        secret: mount.name,
        key: mount.key,
        value: Buffer.from(value).toString(),
      });
    } else {
      await mkdir(dirname(mount.path), { recursive: true, mode: 0o700 });
      await writeFile(mount.path, value, { mode: 0o600 });
    }
  }
  await writeSecrets(stateDir, secrets);
  await pruneSecrets(stateDir, secrets);
}
