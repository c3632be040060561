import { jsonText } from '../../../contract/text/printable.ts';
import { foldedName, entryNameFault } from '../files/entry-name.ts';

/** The archive is damaged, too large, or holds something other than files and folders. */
export class ArchiveError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ArchiveError';
  }
}

/** Limits that the file systems of clients have at least. */
const MAX_NAME_BYTES = 255;
const MAX_PATH_BYTES = 1024;

/** Returns the path of an entry without `./` in front and `/` at the end. Only a folder may be the top folder. @throws ArchiveError */
export function safePath(path: string, isFolder: boolean): string {
  const parts = path
    .replace(/\/$/u, '')
    .split('/')
    .filter((part) => part !== '.');
  const isLong =
    Buffer.byteLength(path) > MAX_PATH_BYTES || parts.some((part) => Buffer.byteLength(part) > MAX_NAME_BYTES);
  if (isLong) throw new ArchiveError(`the path ${jsonText(`${path.slice(0, MAX_NAME_BYTES)}...`)} is too long`);
  const fault = parts.map(entryNameFault).find((found) => found !== undefined);
  if (fault !== undefined) throw notAllowed(path, fault);
  if (parts.length === 0 && !isFolder) throw notAllowed(path, 'it names no file');
  return parts.join('/');
}

const notAllowed = (path: string, fault: string): ArchiveError =>
  new ArchiveError(`the path ${jsonText(path)} is not allowed: ${fault}`);

/** Entries by which git recognizes a bare repository, whose settings it then obeys. */
const HEAD = 'head';
const STORES = [['objects', 'refs'], ['commondir']];

/** Folder of a tree of paths. */
interface Folder {
  readonly name: string;
  /** By their folded names; a file has no folder. */
  readonly entries: Map<string, { readonly name: string; readonly folder: Folder | undefined }>;
}

const newFolder = (name: string): Folder => ({ name, entries: new Map() });

/** Paths that can exist side by side on every file system. */
export class PathSet {
  readonly #top = newFolder('');
  readonly #max: number;
  #files = 0;
  #folders = 0;

  /** `max` limits the number of files, and that of folders. */
  constructor(max: number) {
    this.#max = max;
  }

  /** @throws ArchiveError for a file in the place of another one or of a folder, for a repository, and for too many files */
  addFile(path: string): void {
    const { parent, name } = this.#parentOf(path);
    const known = parent.entries.get(foldedName(name));
    if (known?.folder) throw inPlaceOfFolder(path);
    if (known) throw known.name === name ? new ArchiveError(`"${path}" occurs twice`) : twoSpellings(path, known.name);
    parent.entries.set(foldedName(name), { name, folder: undefined });
    checkRepository(parent, path);
    this.#files += 1;
    if (this.#files > this.#max) throw new ArchiveError(`more than ${String(this.#max)} files`);
  }

  /** @throws ArchiveError for a folder in the place of a file, for a repository, and for too many folders */
  addFolder(path: string): void {
    if (path !== '') this.#parentOf(`${path}/x`);
  }

  /** Returns the folder of a path, with its parents, and the last part. */
  #parentOf(path: string): { parent: Folder; name: string } {
    const parts = path.split('/');
    const name = parts.pop() ?? '';
    let parent = this.#top;
    for (const [index, part] of parts.entries()) {
      const here = parts.slice(0, index + 1).join('/');
      const known = parent.entries.get(foldedName(part));
      if (known && !known.folder) throw inPlaceOfFolder(here);
      if (known && known.name !== part) throw twoSpellings(here, known.name);
      const folder = known?.folder ?? this.#newFolder(part);
      parent.entries.set(foldedName(part), { name: part, folder });
      checkRepository(parent, here);
      parent = folder;
    }
    return { parent, name };
  }

  #newFolder(name: string): Folder {
    this.#folders += 1;
    if (this.#folders > this.#max) throw new ArchiveError(`more than ${String(this.#max)} folders`);
    return newFolder(name);
  }
}

function checkRepository({ entries }: Folder, path: string): void {
  if (!entries.has(HEAD) || !STORES.some((names) => names.every((name) => entries.has(name)))) return;
  throw notAllowed(path, 'its folder is a git repository, and git would obey the files of a publisher');
}

const inPlaceOfFolder = (path: string): ArchiveError => new ArchiveError(`"${path}" is both a file and a folder`);

const twoSpellings = (path: string, other: string): ArchiveError =>
  notAllowed(path, `some file systems read it and "${other}" as one name`);
