import { readFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileProblem, type LocatedProblem } from './located.ts';

/** Largest value that is read, the limit of a Secret in Kubernetes. */
const MAX_VALUE_BYTES = 1024 * 1024;

/** The Secrets of a `--secrets-dir`: a folder per Secret, a file per key. */
export interface SecretsDir {
  /** Key names by Secret name, sorted. */
  readonly keys: ReadonlyMap<string, readonly string[]>;
  readonly problems: readonly LocatedProblem[];
  /** Reads the value anew; undefined when the file is gone. */
  read(secret: string, key: string): Promise<Uint8Array | undefined>;
}

/** Lists the names; values are read when they are asked for. */
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

/** Files, also through symbolic links as kubelet makes them; hidden names are kubelet's own. */
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
    if (size > MAX_VALUE_BYTES) throw new Error(`${file} is larger than a Secret may be (1 MiB)`);
    return await readFile(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
