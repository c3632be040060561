import { isGitReference, parseGitReference, type GitReference } from './git-reference.ts';
import { isTag, parseOciReference, type OciReference } from './oci-reference.ts';

/** Entry of a registry of skills, by its name. */
export interface RegistryName {
  readonly namespace?: string;
  readonly name: string;
}

/** Place that the name in an install request stands for. */
type InstallSource =
  | GitReference
  /** `orElse` is the entry of a registry that the name may mean when there is no such artifact. */
  | (OciReference & { readonly orElse?: RegistryName })
  | (RegistryName & { readonly kind: 'registry' });

/** Returns the place that a name means; undefined when it is no valid name. `version` completes a name without a tag. */
export function installSource(name: string, version?: string): InstallSource | undefined {
  if (isGitReference(name)) return parseGitReference(name);
  if (!/[/:@]/u.test(name)) return isSkillName(name) ? { kind: 'registry', name } : undefined;
  const reference = parseOciReference(name);
  if (!reference || reference.tag !== undefined || reference.digest !== undefined) return reference;
  if (version !== undefined && !isTag(version)) return undefined;
  const [namespace = '', skill = '', ...deeper] = name.split('/');
  const isAmbiguous = deeper.length === 0 && isSkillName(skill);
  const tag = version ?? 'latest';
  return { ...reference, tag, ...(isAmbiguous && { orElse: { namespace, name: skill } }) };
}

const PATTERN = /^[a-z0-9][a-z0-9-]*[a-z0-9]$/u;
const MAX_LENGTH = 64;

/** Returns true for the name of a skill. Such a name is also a safe name of a folder. */
export const isSkillName = (text: string): boolean =>
  text.length <= MAX_LENGTH && PATTERN.test(text) && !text.includes('--');

/** Rule for the names of skills, as the end of a sentence. */
export const SKILL_NAME_RULE =
  'must have 2 to 64 lower-case letters, digits and single hyphens, and begin and end with a letter or digit';

/** Files of a skill at their source. */
interface Resolved {
  readonly reference: string;
  readonly digest: string;
}

/** Returns true for references to the same repository, whatever the version. */
export const isSameRepository = (one: string, other: string): boolean => repositoryIn(one) === repositoryIn(other);

/** Returns true if the found files differ from those before, and come from another repository. */
export const hasMoved = (before: Resolved, found: Resolved): boolean =>
  before.digest !== found.digest && !isSameRepository(before.reference, found.reference);

/** Returns the place of the files without their version. */
function repositoryIn(reference: string): string {
  const { host, repository } = parseGitReference(reference) ?? parseOciReference(reference) ?? {};
  return `${String(host)}/${String(repository)}`;
}
