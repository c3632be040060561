import { SkillError } from './skill-error.ts';
import type { Scope } from './installed-skill.ts';
import { checkProjectRoot } from './files/project-root.ts';

/** Home folder or project that skills are installed in. */
export interface Place {
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
export async function placeOf({ scope = 'user', project_root: project }: Choice, home: string): Promise<Place> {
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
  { scope, project_root: project }: Place,
  record: { readonly scope: Scope; readonly project_root?: string },
): boolean => record.scope === scope && record.project_root === project;
