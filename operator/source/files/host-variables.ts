import { dirname, join, relative, resolve } from 'node:path';
import { readFile, readdir, stat } from 'node:fs/promises';
import type { HostVariables } from '../../resolve/snapshot.ts';
import { readEnvFile, type EnvFile } from './env-file.ts';
import { ENV_FILE, STDIN, STDIN_FILE } from './find-files.ts';
import { type LocatedProblem, fileProblem } from './located.ts';
import type { Mount } from '../../resolve/scope.ts';

/** MCPServer that reads host variables. */
export interface VariableReader {
  readonly namespace: string;
  readonly server: string;
  /** File of the resource. */
  readonly file: string;
  readonly variables: readonly string[];
}

/** Host variables of one MCPServer with their values. */
export interface ServerVariables extends HostVariables {
  readonly namespace: string;
  readonly values: ReadonlyMap<string, string>;
}

interface FoundVariables {
  readonly servers: readonly ServerVariables[];
  readonly problems: readonly LocatedProblem[];
  readonly warnings: readonly LocatedProblem[];
}

/**
 * Finds the values of host variables: in `hostEnv`, then in the `.env` beside the resource, then in the `.env` of the
 * folder in `paths` that contains the resource. Reads no `.env` that no server needs.
 */
export async function findHostVariables(
  readers: readonly VariableReader[],
  paths: readonly string[],
  hostEnv: Readonly<Record<string, string | undefined>>,
): Promise<FoundVariables> {
  const envFiles = new Map<string, EnvFile>();
  const servers: ServerVariables[] = [];
  for (const { namespace, server, file, variables } of readers) {
    const folders = foldersOf(file, paths);
    for (const folder of folders) {
      if (!envFiles.has(folder)) envFiles.set(folder, await readEnvFile(folder));
    }
    const sources = folders.map((folder) => envFiles.get(folder)?.values);
    const values = new Map(
      variables.flatMap((name) => {
        const own = Object.hasOwn(hostEnv, name) ? hostEnv[name] : undefined;
        const value = own ?? sources.find((source) => source?.has(name))?.get(name);
        return value === undefined ? [] : [[name, value] as const];
      }),
    );
    servers.push({ namespace, server, names: [...values.keys()], envFile: join(folders[0] ?? '', ENV_FILE), values });
  }
  const found = [...envFiles.values()];
  return {
    servers,
    problems: found.flatMap(({ problems }) => problems),
    warnings: found.flatMap(({ warnings }) => warnings),
  };
}

/** Lists the folders whose `.env` applies to a file, the closest first, each once. */
function foldersOf(file: string, paths: readonly string[]): string[] {
  if (file === STDIN_FILE) return ['.'];
  const own = dirname(file);
  const given = paths.filter((path) => path !== STDIN && resolve(path) !== resolve(own) && isBelow(file, path));
  return [own, ...given];
}

const isBelow = (file: string, folder: string): boolean => {
  const path = relative(folder, file);
  return path !== '' && path !== '..' && !path.startsWith('../');
};

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

type ValueRef = Pick<Mount, 'kind' | 'namespace' | 'name' | 'key'>;

/** Values of Secrets, ConfigMaps and host variables for local mode. Printing the object shows no value. */
export interface SecretValues {
  /** Returns a value, or undefined when the key does not exist. Secrets in files take precedence over the secrets folder. */
  read(ref: ValueRef): Promise<Uint8Array | undefined>;
}

/** Values by `valueKey`. */
export type FileValues = ReadonlyMap<string, Uint8Array>;

export const valueKey = ({ kind, namespace, name, key }: ValueRef): string =>
  JSON.stringify([kind, namespace, name, key]);

export const secretValues = (values: FileValues, dir: SecretsDir | undefined): SecretValues => ({
  async read(ref) {
    const value = values.get(valueKey(ref));
    return value ?? (ref.kind === 'Secret' ? dir?.read(ref.name, ref.key) : undefined);
  },
});
