import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { leftOutOf } from '../files/entry-name.ts';
import { readTar, type ArchiveLimits } from './tar.ts';

const MIB = 1024 * 1024;
/** Largest number of files of a skill, and of folders. */
export const MAX_FILES = 1000;
const LIMITS: ArchiveLimits = { maxFiles: MAX_FILES, maxFileBytes: 100 * MIB, maxBytes: 500 * MIB };

/**
 * Writes the files of an archive into a new folder, none of them executable. Returns the paths of those that a skill is installed
 * without, sorted; a folder ends with `/`.
 * @throws ArchiveError
 */
export async function unpackSkill(archive: AsyncIterable<Uint8Array>, folder: string): Promise<readonly string[]> {
  const leftOut = new Set<string>();
  for await (const { path, content } of readTar(archive, LIMITS)) {
    const omission = leftOutOf(path);
    if (omission) {
      leftOut.add(omission.path);
      continue;
    }
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true, mode: 0o755 });
    await writeFile(file, content, { flag: 'wx', mode: 0o644 });
  }
  return [...leftOut].toSorted();
}
