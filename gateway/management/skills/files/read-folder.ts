import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat, readdir, readFile, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { MAX_SKILL_FILE_BYTES, SKILL_FILE } from '../skill-md.ts';

/** Regular files and symbolic links below a folder, by their paths relative to it, with `/` between the parts, sorted. */
interface FolderListing {
  readonly files: readonly string[];
  readonly links: readonly string[];
}

/** Lists a folder with its sub-folders, and never follows a link. */
export async function listFolder(folder: string): Promise<FolderListing> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = (kind: 'isFile' | 'isSymbolicLink'): string[] =>
    entries
      .filter((entry) => entry[kind]())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll(sep, '/'))
      .toSorted();
  return { files: paths('isFile'), links: paths('isSymbolicLink') };
}

/** Returns the size of each file of a folder in bytes, by its path. */
export async function fileSizes(folder: string): Promise<ReadonlyMap<string, number>> {
  const { files } = await listFolder(folder);
  const sizes = files.map(async (path) => [path, (await stat(join(folder, path))).size] as const);
  return new Map(await Promise.all(sizes));
}

/** Returns a digest of the files of a folder: of a line `SHA-256  PATH` for each. */
export async function contentDigest(folder: string): Promise<string> {
  const { files } = await listFolder(folder);
  const total = createHash('sha256');
  for (const path of files) {
    const digest = createHash('sha256').update(await readFile(join(folder, path)));
    total.update(`${digest.digest('hex')}  ${path}\n`);
  }
  return `sha256:${total.digest('hex')}`;
}

/** Returns true for a file, a folder or a symbolic link, even one without a target. */
export const pathExists = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

/** Reads the `SKILL.md` of a folder, and of a file that is too large no more than shows that. */
export const readSkillFile = (folder: string): Promise<Buffer> =>
  buffer(createReadStream(join(folder, SKILL_FILE), { end: MAX_SKILL_FILE_BYTES }));
