import { SkillError } from './errors.ts';
import { MAX_DEPENDENCIES, type SkillMetadata } from './skill-md.ts';

/** Skill that was downloaded into a folder of its own. */
export interface DownloadedSkill {
  readonly metadata: SkillMetadata;
  /** References of the skills that it needs. */
  readonly requires: readonly string[];
  readonly folder: string;
  /** Size of its files. */
  readonly bytes: number;
  readonly contentDigest: string;
  /** Reference that leads to exactly these files. */
  readonly reference: string;
  readonly tag?: string;
  readonly digest: string;
  /** Paths that the skill is installed without, if there are any; a folder ends with `/`. */
  readonly leftOut?: readonly string[];
}

/** Downloaded skill with its dependencies. */
export interface CollectedSkill extends DownloadedSkill {
  /** Name of the skill, as the request or `requires` of another skill has it. */
  readonly source: string;
  readonly dependencies: readonly { readonly name: string; readonly reference: string; readonly digest: string }[];
}

const GIB = 1024 ** 3;
/** Size after which a skill and its dependencies are no longer downloaded. */
const MAX_BYTES = GIB;

/**
 * Downloads a skill and all skills that it needs. Returns dependencies first, and the skill itself last.
 * @throws SkillError for a cycle, too many dependencies, too large ones, or one name with two contents
 */
export async function collectSkills(
  source: string,
  download: (source: string, isDependency: boolean) => Promise<DownloadedSkill>,
): Promise<readonly CollectedSkill[]> {
  const bySource = new Map<string, DownloadedSkill>();
  const collected = new Map<string, CollectedSkill>();
  let bytes = 0;
  const fetched = async (reference: string, isDependency: boolean): Promise<DownloadedSkill> => {
    const skill = await download(reference, isDependency);
    bytes += skill.bytes;
    if (bytes > MAX_BYTES) throw tooLarge(source);
    return skill;
  };

  const visit = async (reference: string, parents: readonly string[]): Promise<DownloadedSkill> => {
    if (bySource.size > MAX_DEPENDENCIES && !bySource.has(reference)) throw tooMany(source);
    const skill = bySource.get(reference) ?? (await fetched(reference, parents.length > 0));
    const { name } = skill.metadata;
    if (parents.includes(name)) throw cycle([...parents, name]);
    bySource.set(reference, skill);
    const known = collected.get(name);
    if (known && known.contentDigest !== skill.contentDigest) throw twoContents(name);
    if (known) return known;
    const dependencies = [];
    for (const each of skill.requires) dependencies.push(await visit(each, [...parents, name]));
    const facts = dependencies.map(({ metadata, reference, digest }) => ({ name: metadata.name, reference, digest }));
    collected.set(name, { ...skill, source: reference, dependencies: facts });
    return skill;
  };

  await visit(source, []);
  return [...collected.values()];
}

/** Returns the paths that skills are installed without, each behind the name of its skill. */
export const leftOutBy = (skills: readonly Pick<DownloadedSkill, 'metadata' | 'leftOut'>[]): string[] =>
  skills.flatMap(({ metadata, leftOut = [] }) => leftOut.map((path) => `${metadata.name}/${path}`));

const cycle = (names: readonly string[]): SkillError =>
  new SkillError('unusable_skill', `the skills need each other in a circle: ${names.join(' needs ')}`);

const tooMany = (source: string): SkillError =>
  new SkillError('unusable_skill', `"${source}" needs more than ${String(MAX_DEPENDENCIES)} skills`);

const tooLarge = (source: string): SkillError =>
  new SkillError(
    'unusable_skill',
    `"${source}" and the skills that it needs have more than ${String(MAX_BYTES / GIB)} GiB`,
  );

const twoContents = (name: string): SkillError =>
  new SkillError('unusable_skill', `two different skills have the name "${name}"`);
