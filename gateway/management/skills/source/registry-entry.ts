import { formatGitReference, parseGitReference, type GitReference } from '../reference/git-reference.ts';
import type { RegistryName } from '../reference/install-source.ts';
import { parseOciReference, type OciReference } from '../reference/oci-reference.ts';
import { SkillError } from '../errors.ts';

/** Members of a registry's skill that an installation uses. */
export interface SkillEntry {
  readonly namespace: string;
  readonly name: string;
  readonly packages?: readonly RegistryPackage[] | undefined;
}

interface RegistryPackage {
  readonly registryType?: string | undefined;
  readonly identifier?: string | undefined;
  readonly digest?: string | undefined;
  readonly url?: string | undefined;
  readonly ref?: string | undefined;
  readonly commit?: string | undefined;
  readonly subfolder?: string | undefined;
}

/** Returns the entries that `wanted` names. Names match without regard to case. */
export function matchingEntries(entries: readonly SkillEntry[], wanted: RegistryName): SkillEntry[] {
  return entries.filter(
    ({ name, namespace }) =>
      name.toLowerCase() === wanted.name.toLowerCase() &&
      (wanted.namespace === undefined || wanted.namespace === namespace),
  );
}

/** Returns the source of an entry: its OCI package, else its git package. @throws SkillError */
export function packageOf({ name, packages = [] }: SkillEntry): OciReference | GitReference {
  const ofType = (type: string): RegistryPackage[] => packages.filter(({ registryType }) => registryType === type);
  const found = ofType('oci').map(ociPackage).find(Boolean) ?? ofType('git').map(gitPackage).find(Boolean);
  if (found) return found;
  throw new SkillError('unusable_skill', `the registry names no package of "${name}" that vmcp can download`);
}

function ociPackage({ identifier = '', digest }: RegistryPackage): OciReference | undefined {
  const reference = parseOciReference(identifier);
  const isPinned = reference === undefined || reference.digest !== undefined || digest === undefined;
  return isPinned ? reference : parseOciReference(`${identifier}@${digest}`);
}

function gitPackage({ url = '', identifier = '', ref, commit, subfolder }: RegistryPackage): GitReference | undefined {
  const address = /^(?:https|git):\/\/([^/]+)\/(.+)$/u.exec(url || identifier);
  if (!address) return undefined;
  const [, host = '', repository = ''] = address;
  const version = commit ?? ref?.replace(/^refs\/(?:heads|tags)\//u, '');
  const folder = subfolder?.replace(/^(?:\.\/)+|\/$/gu, '');
  return parseGitReference(
    formatGitReference({
      ...{ kind: 'git', host, repository },
      ...(version !== undefined && version !== '' && { ref: version }),
      ...(folder !== undefined && folder !== '' && { folder }),
    }),
  );
}
