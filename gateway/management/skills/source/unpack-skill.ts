import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readTar, type ArchiveLimits } from './tar.ts';

const MIB = 1024 * 1024;
const LIMITS: ArchiveLimits = { maxFiles: 1000, maxFileBytes: 100 * MIB, maxBytes: 500 * MIB };

/** Writes the files of an archive into a new folder, none of them executable. @throws ArchiveError */
export async function unpackSkill(archive: AsyncIterable<Uint8Array>, folder: string): Promise<void> {
  for await (const { path, content } of readTar(archive, LIMITS)) {
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true, mode: 0o755 });
    await writeFile(file, content, { flag: 'wx', mode: 0o644 });
  }
}
