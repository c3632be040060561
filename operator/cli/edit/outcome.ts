import { join } from 'node:path';
import { jsonText } from '../../../gateway/contract/text/printable.ts';
import type { NewFile } from '../../source/edit/folder-files.ts';
import type { NextStep } from './next-step.ts';
import type { Io } from '../validate/problems-output.ts';
import { renderTable } from '../table.ts';

/** Exit code for wrong usage and invalid input. */
export const EXIT_INVALID = 2;

interface ChangedFile {
  readonly change: 'created' | 'changed' | 'deleted';
  readonly file: string;
  /** Objects that were written or removed, as `Kind/name`. */
  readonly objects: readonly string[];
}

/** Result of a command that changes a folder of resources. */
interface Outcome extends NextStep {
  readonly changes: readonly ChangedFile[];
  /** Facts that only the JSON document contains. */
  readonly facts?: Readonly<Record<string, unknown>>;
}

/** Options of every command that changes a folder. */
export interface OutputFlags {
  /** Prints one JSON document instead of a table. */
  readonly output?: 'json';
}

const WATCHED = 'vmcp up --watch follows this folder and applies the change.\n';

export function printOutcome(
  { changes, facts, next, isWatched }: Outcome,
  { output }: OutputFlags,
  { stdout }: Io,
): void {
  if (output === 'json') {
    stdout.write(`${jsonText({ changes, ...facts, next }, 2)}\n`);
    return;
  }
  const rows = changes.map(({ change, file, objects }) => [change, file, objects.join(', ')]);
  stdout.write(
    `${renderTable([['CHANGE', 'FILE', 'OBJECTS'], ...rows]).join('\n')}\n\n${isWatched ? WATCHED : ''}Next:  ${next}\n`,
  );
}

/** Returns the changes of a command that creates files. */
export const created = (dir: string, files: readonly NewFile[]): ChangedFile[] =>
  files.map(({ name, objects }) => ({ change: 'created', file: join(dir, name), objects }));
