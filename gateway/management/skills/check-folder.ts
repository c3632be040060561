import { basename, join, resolve } from 'node:path';
import { SkillError } from './errors.ts';
import { leftOutOf } from './files/entry-name.ts';
import { pathExists, listFolder, readSkillFile } from './files/read-folder.ts';
import { folderPathFault } from './place.ts';
import { MAX_DEPENDENCIES, readSkillMd, SKILL_FILE } from './skill-md.ts';
import { ArchiveError, PathSet, safePath } from './source/archive-path.ts';
import { MAX_FILES } from './source/unpack-skill.ts';

/** Errors and warnings of the paths in a folder. */
interface PathCheck {
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
}

/** Folder of a skill, as it is on disk. */
interface SkillFolder {
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

/** Lists the plain names whose skills the registry cannot install. @throws SkillError if it cannot be read */
type MissingSkills = (names: readonly string[]) => Promise<readonly string[]>;

/** Checks the skill in a folder of this machine. Does not look further into a folder without `SKILL.md`. @throws SkillError */
export async function checkFolder(path: string, missing: MissingSkills): Promise<SkillCheck> {
  const fault = folderPathFault(path);
  if (fault !== undefined) throw new SkillError('invalid_skill_request', `path ${fault}`);
  const folder = resolve(path);
  const name = basename(folder);
  if (!(await pathExists(join(folder, SKILL_FILE)))) return checkSkill({ name, links: [], skillMd: undefined });
  const listing = await listFolder(folder);
  const [files, links] = [listing.files, listing.links].map((paths) => paths.filter((each) => !isOwnRepository(each)));
  const skillMd = listing.files.includes(SKILL_FILE) ? await readSkillFile(folder) : undefined;
  const hasRepository = await pathExists(join(folder, REPOSITORY));
  const paths = checkPaths(files ?? [], hasRepository);
  const needed = await checkNeeded(
    skillMd === undefined ? [] : (readSkillMd(skillMd).document?.requires ?? []),
    missing,
  );
  const all = {
    errors: [...paths.errors, ...needed.errors],
    warnings: [...paths.warnings, ...needed.warnings],
  };
  return checkSkill({ name, links: links ?? [], skillMd, paths: all });
}

/** Checks the required skills that come from the registry. Only their sources know the other required skills. */
async function checkNeeded(requires: readonly string[], missing: MissingSkills): Promise<PathCheck> {
  try {
    const errors = (await missing(requires.slice(0, MAX_DEPENDENCIES))).map(
      (name) =>
        `${SKILL_FILE}: requires: the registry has not one skill "${name}": name its source, or name programs in compatibility`,
    );
    return { errors, warnings: [] };
  } catch (error) {
    if (!(error instanceof SkillError)) throw error;
    return { errors: [], warnings: [`${SKILL_FILE}: requires is not checked: ${error.message}`] };
  }
}

/** Repository that the author keeps the skill in: git itself and archives of git leave it out. */
const REPOSITORY = '.git';
const isOwnRepository = (path: string): boolean => path === REPOSITORY || path.startsWith(`${REPOSITORY}/`);

/** Names the paths that an installation refuses, and those that it leaves out. */
function checkPaths(files: readonly string[], hasRepository: boolean): PathCheck {
  const leftOut = new Map(hasRepository ? [[`${REPOSITORY}/`, 'its name is hidden']] : []);
  const errors: string[] = [];
  const paths = new PathSet(MAX_FILES);
  for (const path of files) {
    const omission = leftOutOf(path);
    if (omission) leftOut.set(omission.path, omission.reason);
    try {
      paths.addFile(safePath(path, false));
    } catch (error) {
      if (!(error instanceof ArchiveError)) throw error;
      errors.push(error.message);
    }
  }
  return {
    errors: errors.slice(0, MAX_ERRORS),
    warnings: [...leftOut].toSorted().map(([path, reason]) => `${path} is not installed: ${reason}`),
  };
}

/** Number of errors that one answer names. */
const MAX_ERRORS = 100;
