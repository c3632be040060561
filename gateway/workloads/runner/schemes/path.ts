import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import type { Environment } from '../environment.ts';

/** Returns the absolute path of an executable from the host's PATH. Skips relative entries of PATH. */
export function findOnPath(name: string, hostEnv: Environment): string | undefined {
  const folders = (hostEnv['PATH'] ?? '').split(delimiter).filter((folder) => isAbsolute(folder));
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
