import { lstat, realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { SkillError } from '../skill-error.ts';
import { pathFault } from './path-fault.ts';
import { isThere } from './read-folder.ts';

/** Returns the normal form of the folder of a project. @throws SkillError */
export async function checkProjectRoot(path: string): Promise<string> {
  const fault = pathFault(path) ?? (await folderFault(resolve(path)));
  if (fault !== undefined) throw new SkillError('invalid_skill_request', `project_root ${fault}`);
  return resolve(path);
}

async function folderFault(path: string): Promise<string | undefined> {
  const stats = await lstat(path).catch(() => undefined);
  if (stats?.isSymbolicLink() === true || (stats && (await realpath(path)) !== path)) {
    return 'must not contain a symbolic link';
  }
  if (stats?.isDirectory() !== true) return 'must be an existing folder';
  return (await isThere(join(path, '.git'))) ? undefined : 'must be the top folder of a git repository';
}
