import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import type { Environment } from '../environment.ts';

/** Absolute path of an executable, by the host's PATH; relative entries of PATH are passed over. */
export function findOnPath(name: string, hostEnv: Environment): string | undefined {
  const folders = (hostEnv['PATH'] ?? '').split(delimiter).filter((folder) => isAbsolute(folder));
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
