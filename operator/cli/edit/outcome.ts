import { join, resolve, sep } from 'node:path';
import { jsonText } from '../../../gateway/contract/text/printable.ts';
import type { NewFile } from '../../source/edit/folder-files.ts';
import { readRunning } from '../../local/running.ts';
import { defaultStateDir } from '../../local/state.ts';
import { ownCommandLine } from '../own-command.ts';
import { renderTable } from '../table.ts';
import type { EditHost } from './edit-host.ts';

/** Exit code for wrong usage and invalid input. */
export const EXIT_INVALID = 2;

interface ChangedFile {
  readonly change: 'created' | 'changed' | 'deleted';
  readonly file: string;
  /** Objects that were written or removed, as `Kind/name`. */
  readonly objects: readonly string[];
}

/** Result of a command that changes a folder of resources. */
interface Outcome {
  readonly dir: string;
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

/** Prints the result, and the command to run next: it starts the servers, or shows them where `vmcp up --watch` follows the folder. */
export function printOutcome(
  { dir, changes, facts }: Outcome,
  { output }: OutputFlags,
  { stdout, env }: EditHost,
): void {
  const isWatched = isFollowed(resolve(dir), env);
  const next = isWatched ? ownCommandLine('status') : ownCommandLine('up', dir);
  if (output === 'json') {
    stdout.write(`${jsonText({ changes, ...facts, next }, 2)}\n`);
    return;
  }
  const rows = changes.map(({ change, file, objects }) => [change, file, objects.join(', ')]);
  stdout.write(
    `${renderTable([['CHANGE', 'FILE', 'OBJECTS'], ...rows]).join('\n')}\n\n${isWatched ? WATCHED : ''}Next:  ${next}\n`,
  );
}

/** Returns true when a running `vmcp up --watch` applies the changes of a folder. */
function isFollowed(folder: string, env: EditHost['env']): boolean {
  const { watched = [] } = readRunning(resolve(defaultStateDir(env))) ?? {};
  return watched.some((path) => folder === path || folder.startsWith(`${path}${sep}`));
}

/** Returns the changes of a command that creates files. */
export const created = (dir: string, files: readonly NewFile[]): ChangedFile[] =>
  files.map(({ name, objects }) => ({ change: 'created', file: join(dir, name), objects }));
