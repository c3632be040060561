import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ENV_FILE, parseEnvText } from './env-text.ts';
import { fileProblem, type LocatedProblem } from './located.ts';
import { readText } from './read-text.ts';

export interface EnvFile {
  readonly values: ReadonlyMap<string, string>;
  readonly problems: readonly LocatedProblem[];
  readonly warnings: readonly LocatedProblem[];
}

const READABLE_BY_OTHERS = 0o044;

/** Reads the `.env` of a folder. A missing file has no values and no problem. */
export async function readEnvFile(folder: string): Promise<EnvFile> {
  const file = join(folder, ENV_FILE);
  const mode = await modeOf(file);
  if (mode === undefined) return { values: new Map(), problems: [], warnings: [] };
  const read = await readText(file);
  if ('reason' in read) {
    return { values: new Map(), problems: [fileProblem(file, read.reason, read.message)], warnings: [] };
  }
  const { values, faults } = parseEnvText(read.text);
  const message = `other users of this machine can read it: run chmod 600 ${file}`;
  return {
    values,
    problems: faults.map((fault) => ({ ...fileProblem(file, 'InvalidEnvFile', fault.message), line: fault.line })),
    warnings: (mode & READABLE_BY_OTHERS) === 0 ? [] : [fileProblem(file, 'EnvFileExposed', message)],
  };
}

/** Returns the permissions of a file, 0 when they cannot be read, and undefined when the file does not exist. */
async function modeOf(file: string): Promise<number | undefined> {
  try {
    return (await stat(file)).mode;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ENOTDIR' ? undefined : 0;
  }
}
