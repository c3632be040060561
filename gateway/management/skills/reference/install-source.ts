import { isSkillName } from './skill-name.ts';
import { isGitReference, parseGitReference, type GitReference } from './git-reference.ts';
import { isTag, parseOciReference, type OciReference } from './oci-reference.ts';

/** Entry of a registry of skills, by its name. */
export interface RegistryName {
  readonly namespace?: string;
  readonly name: string;
}

/** Place that the name in an install request stands for. */
export type InstallSource =
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
