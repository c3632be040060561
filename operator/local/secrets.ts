import { chmod, mkdir, readdir, readFile, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ownDraftOf, replaceFile } from '../../gateway/kit/files.ts';
import { hostVariablesFolder, type Mount } from '../resolve/scope.ts';
import type { SecretValues } from '../source/files/host-variables.ts';

/** One key of one Secret. */
export interface SecretValue {
  readonly namespace: string;
  readonly secret: string;
  readonly key: string;
  readonly value: string | Uint8Array;
}

type SecretKey = Omit<SecretValue, 'value'>;

/** Names and keys that Kubernetes allows, except `.` and `..`, which would leave the folder. */
const SEGMENT = /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,253}$/;

/**
 * Returns the path of a Secret's key below the state folder. Pure; `writeSecrets` creates the file.
 * @throws Error for an invalid Secret name or key
 */
export function secretPath(stateDir: string, { namespace, secret, key }: SecretKey): string {
  const wrong = [namespace, secret, key].find((segment) => !SEGMENT.test(segment));
  if (wrong !== undefined) throw new Error(`"${wrong}" is not a valid name of a Secret or of its key`);
  return join(secretsDir(stateDir), namespace, secret, key);
}

/**
 * Writes each value to its `secretPath` with mode 0600 in folders of mode 0700. A reader sees the old or the new value,
 * never a part; a file with the same value is not touched.
 */
export async function writeSecrets(stateDir: string, values: readonly SecretValue[]): Promise<void> {
  for (const value of values) {
    const path = secretPath(stateDir, value);
    for (const dir of privateDirs(stateDir, value)) {
      await mkdir(dir, { recursive: true, mode: 0o700 });
      await chmod(dir, 0o700);
    }
    await writePrivateFile(path, value.value);
  }
}

/** Removes every secret file that `keep` does not name, and the folders that become empty. */
export async function pruneSecrets(stateDir: string, keep: readonly SecretKey[]): Promise<void> {
  const kept = new Set(keep.map((key) => secretPath(stateDir, key)));
  const entries = await readdir(secretsDir(stateDir), { recursive: true, withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isDirectory() && !kept.has(path)) await rm(path, { force: true });
  }
  const dirs = entries.filter((entry) => entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name));
  // Deepest first; rmdir fails for a folder that is not empty.
  for (const dir of dirs.sort().reverse()) await rmdir(dir).catch(() => undefined);
}

const secretsDir = (stateDir: string): string => join(stateDir, 'secrets');

function privateDirs(stateDir: string, { namespace, secret }: SecretKey): string[] {
  const root = secretsDir(stateDir);
  return [root, join(root, namespace), join(root, namespace, secret)];
}

/** Writes a file with mode 0600. A reader sees the old or the new content, never a part; an equal file is not touched. */
export async function writePrivateFile(path: string, value: string | Uint8Array): Promise<void> {
  if (!(await holds(path, value))) await replaceFile(path, value, ownDraftOf(path));
}

async function holds(path: string, value: string | Uint8Array): Promise<boolean> {
  try {
    const { mode } = await stat(path);
    return (mode & 0o777) === 0o600 && (await readFile(path)).equals(Buffer.from(value));
  } catch {
    return false;
  }
}

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
