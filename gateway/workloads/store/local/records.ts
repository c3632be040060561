import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import type { Logger } from '../../../contract/logger.ts';
import { RunConfig } from '../../../contract/run-config/run-config.ts';
import { withIsolation } from '../../definition/run-config-of.ts';
import { syncFolder, replaceFile } from '../../../kit/files.ts';

/** Stored state of a workload on this machine. */
const WorkloadRecord = Type.Object({
  run_config: RunConfig,
  /** State that the user wants; `removed` until everything of it is gone. */
  desired: Type.Enum(['running', 'stopped', 'removed']),
  /** Run configuration before the last edit, until the edit has proved to run. */
  previous: Type.Optional(RunConfig),
  created_at: Type.String(),
  started_at: Type.Optional(Type.String()),
});
export type WorkloadRecord = Static<typeof WorkloadRecord>;

const SUFFIX = '.json';

/** Files of the records, one for each workload. A record is complete on disk when its promise resolves. */
export class Records {
  readonly #dir: string;
  readonly #log: Pick<Logger, 'error'>;

  constructor(stateDir: string, log: Pick<Logger, 'error'>) {
    this.#dir = join(stateDir, 'workloads');
    this.#log = log;
  }

  /** Reads all records by name, and deletes unfinished drafts. A damaged file is logged and left alone. */
  async load(): Promise<Map<string, WorkloadRecord>> {
    await mkdir(this.#dir, { recursive: true, mode: 0o700 });
    const records = new Map<string, WorkloadRecord>();
    for (const file of (await readdir(this.#dir)).toSorted()) {
      if (file.endsWith('.draft')) await rm(join(this.#dir, file), { force: true });
      if (!file.endsWith(SUFFIX)) continue;
      const record = await this.#read(join(this.#dir, file));
      if (record) records.set(file.slice(0, -SUFFIX.length), record);
    }
    return records;
  }

  /** Returns the path of the file of a name, if there is one. */
  fileOf(name: string): string | undefined {
    const path = this.#path(name);
    return existsSync(path) ? path : undefined;
  }

  async write(name: string, record: WorkloadRecord): Promise<void> {
    await replaceFile(this.#path(name), `${JSON.stringify(record, undefined, 2)}\n`);
  }

  async remove(name: string): Promise<void> {
    await rm(this.#path(name), { force: true });
    await syncFolder(this.#dir);
  }

  #path(name: string): string {
    return join(this.#dir, `${name}${SUFFIX}`);
  }

  async #read(path: string): Promise<WorkloadRecord | undefined> {
    try {
      const value: unknown = JSON.parse(await readFile(path, 'utf8'));
      if (Value.Check(WorkloadRecord, value)) return complete(value);
    } catch (error) {
      this.#log.error('workload record not read', { path, error: String(error) });
      return undefined;
    }
    this.#log.error('workload record is damaged or comes from another version: correct or delete it', { path });
    return undefined;
  }
}

/** Adds what earlier versions of vmcp did not store. */
const complete = ({ run_config: config, previous, ...others }: WorkloadRecord): WorkloadRecord => ({
  ...others,
  run_config: withIsolation(config),
  ...(previous && { previous: withIsolation(previous) }),
});
