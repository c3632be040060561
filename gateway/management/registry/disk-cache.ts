import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Type, type Static } from 'typebox';
import { compiled } from './schema/compiled.ts';
import { EntryProblem } from './schema/registry.ts';
import { ServerRecord } from './schema/server-json.ts';
import { RegistrySkill } from './schema/skill.ts';
import { replaceFile } from '../../kit/files.ts';

const MAX_FILE_BYTES = 10 * 1024 * 1024;
const MAX_TOTAL_BYTES = 50 * 1024 * 1024;
const MAX_AGE_MS = 7 * 86_400_000;

const KeptReading = Type.Object({
  location: Type.String(),
  readAt: Type.Number(),
  etag: Type.Optional(Type.String()),
  catalog: Type.Object({
    version: Type.String(),
    lastUpdated: Type.String(),
    servers: Type.Array(ServerRecord),
    skills: Type.Optional(Type.Array(RegistrySkill)),
    problems: Type.Optional(Type.Array(EntryProblem)),
  }),
});
/** Reading of a registry in its form on disk. */
type KeptReading = Static<typeof KeptReading>;

const isKeptReading = compiled(KeptReading);

/** Readings of registries in a folder, one file each. A file that cannot be used counts as absent. */
export class DiskCache {
  readonly #folder: string;

  constructor(stateDir: string) {
    this.#folder = join(stateDir, 'cache');
  }

  async get(location: string): Promise<KeptReading | undefined> {
    try {
      const kept = JSON.parse(await readFile(this.#path(location), 'utf8')) as unknown;
      return isKeptReading(kept) && kept.location === location ? kept : undefined;
    } catch {
      return undefined;
    }
  }

  /** Stores a reading, unless it is too long. `now` is in ms since the epoch. Throws the error of the system. */
  async set(reading: KeptReading, now: number): Promise<void> {
    const text = JSON.stringify(reading);
    if (Buffer.byteLength(text) > MAX_FILE_BYTES) return;
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await replaceFile(this.#path(reading.location), text);
    await this.#prune(now);
  }

  async delete(location: string): Promise<void> {
    await rm(this.#path(location), { force: true });
  }

  #path(location: string): string {
    const hash = createHash('sha256').update(location).digest('hex').slice(0, 8);
    return join(this.#folder, `registry-${hash}.json`);
  }

  /** Deletes old files, and the oldest ones until the others fit the limit. */
  async #prune(now: number): Promise<void> {
    const names = (await readdir(this.#folder)).filter((name) => /^registry-[0-9a-f]{8}\.json$/u.test(name));
    const files = await Promise.all(
      names.map(async (name) => {
        const path = join(this.#folder, name);
        const { size, mtimeMs } = await stat(path);
        return { path, size, mtimeMs };
      }),
    );
    let total = 0;
    for (const { path, size, mtimeMs } of files.toSorted((one, two) => two.mtimeMs - one.mtimeMs)) {
      total += size;
      if (total > MAX_TOTAL_BYTES || now - mtimeMs > MAX_AGE_MS) await rm(path, { force: true });
    }
  }
}
