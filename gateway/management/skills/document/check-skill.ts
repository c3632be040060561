import { readSkillMd, SKILL_FILE } from './skill-md.ts';

/** Errors and warnings of the paths in a folder. */
export interface PathCheck {
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
}

/** Folder of a skill, as it is on disk. */
export interface SkillFolder {
  /** Name of the folder itself. */
  readonly name: string;
  /** Symbolic links in the folder, by their paths relative to it. */
  readonly links: readonly string[];
  /** Content of its `SKILL.md`; undefined when that is missing or is a symbolic link. */
  readonly skillMd: string | Buffer | undefined;
  readonly paths?: PathCheck;
}

export interface SkillCheck {
  readonly valid: boolean;
  readonly errors?: readonly string[];
  readonly warnings?: readonly string[];
}

/** Lists the errors and warnings of a skill. */
export function checkSkill({ name, links, skillMd, paths = NO_PATHS }: SkillFolder): SkillCheck {
  if (skillMd === undefined && !links.includes(SKILL_FILE)) return outcome([`${SKILL_FILE} is missing`], []);
  const linkErrors = links.map((path) => `${path} is a symbolic link: replace it by a file or a folder`);
  if (skillMd === undefined) return outcome([...linkErrors, ...paths.errors], paths.warnings);
  const { document, errors, warnings } = readSkillMd(skillMd);
  const declared = document?.metadata.name ?? '';
  const isOther = declared !== '' && declared !== name;
  const nameError = `${SKILL_FILE}: name "${declared}" is not the name of the folder, "${name}"`;
  return outcome(
    [...linkErrors, ...paths.errors, ...errors, ...(isOther ? [nameError] : [])],
    [...warnings, ...paths.warnings],
  );
}

const NO_PATHS: PathCheck = { errors: [], warnings: [] };

const outcome = (errors: readonly string[], warnings: readonly string[]): SkillCheck => ({
  valid: errors.length === 0,
  ...(errors.length > 0 && { errors }),
  ...(warnings.length > 0 && { warnings }),
});
