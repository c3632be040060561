import { isAbsolute } from 'node:path';

/** Returns the reason why a text cannot be the path of a folder; undefined when it can. Does not read the disk. */
export function pathFault(path: string): string | undefined {
  if (!isAbsolute(path)) return 'must be an absolute path';
  if (path.includes('\0')) return 'must not contain a NUL character';
  return path.split(/[/\\]/u).includes('..') ? 'must not contain ".."' : undefined;
}
