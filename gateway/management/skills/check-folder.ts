import { basename, join, resolve } from 'node:path';
import { checkSkill, type SkillCheck } from './document/check-skill.ts';
import { SKILL_FILE } from './document/skill-md.ts';
import { pathFault } from './files/path-fault.ts';
import { isThere, listFolder } from './files/read-folder.ts';
import { readSkillFile } from './files/read-skill-file.ts';
import { SkillError } from './skill-error.ts';

/** Checks the skill in a folder of this machine. Does not look further into a folder without `SKILL.md`. @throws SkillError */
export async function checkFolder(path: string): Promise<SkillCheck> {
  const fault = pathFault(path);
  if (fault !== undefined) throw new SkillError('invalid_skill_request', `path ${fault}`);
  const folder = resolve(path);
  const name = basename(folder);
  if (!(await isThere(join(folder, SKILL_FILE)))) return checkSkill({ name, links: [], skillMd: undefined });
  const { files, links } = await listFolder(folder);
  const skillMd = files.includes(SKILL_FILE) ? await readSkillFile(folder) : undefined;
  return checkSkill({ name, links, skillMd });
}
