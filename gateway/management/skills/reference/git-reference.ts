/** Place of a skill in a git repository. */
export interface GitReference {
  readonly kind: 'git';
  /** Host with its port, if any. */
  readonly host: string;
  /** Path of the repository, such as `owner/repo`. */
  readonly repository: string;
  /** Branch, tag or commit; the default branch when absent. */
  readonly ref?: string;
  /** Folder of the skill in the repository; the top folder when absent. */
  readonly folder?: string;
}

const PREFIX = 'git://';
const HOST = /^[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::\d{1,5})?$/u;
const SEGMENT = /^[\w.~][\w.~-]*$/u;
const REF = /^[\w./-]+$/u;
const MAX_LENGTH = 1024;

/** Returns true for a text that must be a reference to a git repository. */
export const isGitReference = (text: string): boolean => text.startsWith(PREFIX);

/** Parses `git://host/owner/repo[@ref][#sub/dir]`. Returns undefined for another text. */
export function parseGitReference(text: string): GitReference | undefined {
  if (!isGitReference(text) || text.length > MAX_LENGTH) return undefined;
  const [address = '', folder, ...more] = text.slice(PREFIX.length).split('#');
  const [path = '', ref, ...others] = address.split('@');
  const [host = '', ...segments] = path.replace(/\.git$/u, '').split('/');
  const isValid =
    more.length + others.length === 0 &&
    HOST.test(host) &&
    segments.length >= 2 &&
    segments.every(isSegment) &&
    (ref === undefined || isRef(ref)) &&
    (folder === undefined || folder.split('/').every(isSegment));
  if (!isValid) return undefined;
  const repository = segments.join('/');
  return { kind: 'git', host, repository, ...(ref !== undefined && { ref }), ...(folder !== undefined && { folder }) };
}

const isSegment = (text: string): boolean => SEGMENT.test(text) && !/^\.{1,2}$/u.test(text) && !/^\.git$/iu.test(text);

/** @see git-check-ref-format(1) */
const isRef = (text: string): boolean =>
  REF.test(text) &&
  !text.includes('..') &&
  text.split('/').every((part) => part !== '' && !/^[.-]|\.$|\.lock$/u.test(part));

/** Returns the name of a ref for the git protocol. Forty hexadecimal digits are a commit, `v1.2` is a tag, else a branch. */
export function gitRefName(ref: string | undefined): string {
  if (ref === undefined) return 'HEAD';
  if (isCommit(ref)) return ref.toLowerCase();
  return /^v\d+(?:\.\d|$)/u.test(ref) ? `refs/tags/${ref}` : `refs/heads/${ref}`;
}

const isCommit = (ref: string): boolean => /^[0-9a-f]{40}$/iu.test(ref);

/** Returns the reference as a text that `parseGitReference` reads. */
export const formatGitReference = ({ host, repository, ref, folder }: GitReference): string =>
  `${PREFIX}${host}/${repository}${ref === undefined ? '' : `@${ref}`}${folder === undefined ? '' : `#${folder}`}`;
