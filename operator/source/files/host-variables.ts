import { dirname, join, relative, resolve } from 'node:path';
import type { HostVariables } from '../../resolve/snapshot.ts';
import { readEnvFile, type EnvFile } from './env-file.ts';
import { ENV_FILE } from './env-text.ts';
import { STDIN, STDIN_FILE } from './find-files.ts';
import type { LocatedProblem } from './located.ts';

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
