import { parseGitReference } from './git-reference.ts';
import { parseOciReference } from './oci-reference.ts';

/** Files of a skill at their source. */
interface Resolved {
  readonly reference: string;
  readonly digest: string;
}

/** Returns true for references to the same repository, whatever the version. */
export const isSameRepository = (one: string, other: string): boolean => repositoryOf(one) === repositoryOf(other);

/** Returns true if the found files are other ones than before, and of another repository. */
export const hasMoved = (before: Resolved, found: Resolved): boolean =>
  before.digest !== found.digest && !isSameRepository(before.reference, found.reference);

/** Returns the place of the files without their version. */
function repositoryOf(reference: string): string {
  const { host, repository } = parseGitReference(reference) ?? parseOciReference(reference) ?? {};
  return `${String(host)}/${String(repository)}`;
}
