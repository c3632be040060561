import { lstat, realpath } from 'node:fs/promises';
import { isAbsolute, join, resolve } from 'node:path';
import { SkillError } from './errors.ts';
import { pathExists } from './files/read-folder.ts';
import type { Scope } from './shapes.ts';

/** Home folder or project that skills are installed in. */
export interface SkillPlace {
  readonly scope: Scope;
  /** Home folder or folder of the project. Paths of the clients' skill folders are relative to it. */
  readonly root: string;
  readonly project_root?: string;
}

interface Choice {
  readonly scope?: Scope;
  readonly project_root?: string;
}

/** Returns the place of a request; the home folder by default. @throws SkillError */
export async function resolvePlace(
  { scope = 'user', project_root: project }: Choice,
  home: string,
): Promise<SkillPlace> {
  if (scope === 'user') {
    if (project === undefined) return { scope, root: home };
    throw new SkillError('invalid_skill_request', 'project_root needs the scope "project"');
  }
  if (project === undefined) throw new SkillError('invalid_skill_request', 'the scope "project" needs project_root');
  const root = await checkProjectRoot(project);
  return { scope, root, project_root: root };
}

/** Returns true for a record of this place. */
export const isIn = (
  { scope, project_root: project }: SkillPlace,
  record: { readonly scope: Scope; readonly project_root?: string },
): boolean => record.scope === scope && record.project_root === project;

/** Returns the normal form of the folder of a project. @throws SkillError */
export async function checkProjectRoot(path: string): Promise<string> {
  const fault = folderPathFault(path) ?? (await folderFault(resolve(path)));
  if (fault !== undefined) throw new SkillError('invalid_skill_request', `project_root ${fault}`);
  return resolve(path);
}

async function folderFault(path: string): Promise<string | undefined> {
  const stats = await lstat(path).catch(() => undefined);
  if (stats?.isSymbolicLink() === true || (stats && (await realpath(path)) !== path)) {
    return 'must not contain a symbolic link';
  }
  if (stats?.isDirectory() !== true) return 'must be an existing folder';
  return (await pathExists(join(path, '.git'))) ? undefined : 'must be the top folder of a git repository';
}

/** Returns the reason why a text cannot be the path of a folder; undefined when it can. Does not read the disk. */
export function folderPathFault(path: string): string | undefined {
  if (!isAbsolute(path)) return 'must be an absolute path';
  if (path.includes('\0')) return 'must not contain a NUL character';
  return path.split(/[/\\]/u).includes('..') ? 'must not contain ".."' : undefined;
}
