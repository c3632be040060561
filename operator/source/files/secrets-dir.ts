import { readFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileProblem, type LocatedProblem } from './located.ts';

/** Maximum size of a value, the limit of a Secret in Kubernetes. */
const MAX_VALUE_BYTES = 1024 * 1024;

/** Secrets of `--secrets-dir`: one folder for each Secret, one file for each key. */
export interface SecretsDir {
  /** Key names by Secret name, sorted. */
  readonly keys: ReadonlyMap<string, readonly string[]>;
  readonly problems: readonly LocatedProblem[];
  /** Reads the current value. Returns undefined when the file does not exist. */
  read(secret: string, key: string): Promise<Uint8Array | undefined>;
}

/** Lists the Secrets and their keys. Values are read on demand. */
export async function openSecretsDir(dir: string): Promise<SecretsDir> {
  const keys = new Map<string, readonly string[]>();
  const problems: LocatedProblem[] = [];
  try {
    for (const secret of (await readdir(dir)).toSorted()) {
      if (secret.startsWith('.') || !(await stat(join(dir, secret))).isDirectory()) continue;
      keys.set(secret, await keyFiles(join(dir, secret)));
    }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    problems.push(
      fileProblem(dir, 'SecretsDirNotReadable', `the secrets folder cannot be read (${code}): correct --secrets-dir`),
    );
  }
  return {
    keys,
    problems,
    read: async (secret, key) =>
      keys.get(secret)?.includes(key) === true ? readValue(join(dir, secret, key)) : undefined,
  };
}

/** Lists the files, also through the symbolic links of the kubelet. Skips hidden names, which the kubelet uses itself. */
async function keyFiles(folder: string): Promise<string[]> {
  const names = (await readdir(folder)).filter((name) => !name.startsWith('.')).toSorted();
  const kinds = await Promise.all(
    names.map(async (name) => (await stat(join(folder, name)).catch(() => undefined))?.isFile()),
  );
  return names.filter((_name, index) => kinds[index] === true);
}

async function readValue(file: string): Promise<Uint8Array | undefined> {
  try {
    const { size } = await stat(file);
    if (size > MAX_VALUE_BYTES) throw new Error(`${file} is larger than 1 MiB, the limit of a Secret`);
    return await readFile(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
