import { ArchiveError } from './archive-error.ts';

/** Limits that the file systems of clients have at least. */
const MAX_NAME_BYTES = 255;
const MAX_PATH_BYTES = 1024;

/** Returns the path of an entry without `./` in front and `/` at the end. Only a folder may be the top folder. @throws ArchiveError */
export function safePath(path: string, isFolder: boolean): string {
  const parts = path
    .replace(/\/$/u, '')
    .split('/')
    .filter((part) => part !== '.');
  if (!parts.every(isSafeName) || (parts.length === 0 && !isFolder)) {
    throw new ArchiveError(`the path ${JSON.stringify(path.slice(0, MAX_PATH_BYTES))} is not allowed`);
  }
  const safe = parts.join('/');
  const isLong =
    Buffer.byteLength(safe) > MAX_PATH_BYTES || parts.some((part) => Buffer.byteLength(part) > MAX_NAME_BYTES);
  if (isLong) throw new ArchiveError(`the path "${safe.slice(0, MAX_NAME_BYTES)}..." is too long`);
  return safe;
}

const isSafeName = (part: string): boolean =>
  // oxlint-disable-next-line no-control-regex -- control characters have no place in the name of a file
  part !== '' && part !== '..' && !/[\u0000-\u001F\\]/u.test(part);

/** Paths of files that can exist side by side. */
export class PathSet {
  readonly #files = new Set<string>();
  readonly #folders = new Set<string>();

  /** Adds a file and returns the number of files. @throws ArchiveError for a file in the place of another one, or of a folder */
  add(path: string): number {
    if (this.#files.has(path)) throw new ArchiveError(`"${path}" occurs twice`);
    if (this.#folders.has(path)) throw inPlaceOfFolder(path);
    for (let end = path.indexOf('/'); end !== -1; end = path.indexOf('/', end + 1)) {
      const folder = path.slice(0, end);
      if (this.#files.has(folder)) throw inPlaceOfFolder(folder);
      this.#folders.add(folder);
    }
    return this.#files.add(path).size;
  }
}

const inPlaceOfFolder = (path: string): ArchiveError => new ArchiveError(`"${path}" is both a file and a folder`);
