import { resolve, sep } from 'node:path';
import { readRunning } from '../../local/running.ts';
import { defaultStateDir } from '../../local/state.ts';
import { ownCommandLine } from '../own-command.ts';

/** Advice for after a change of a folder. */
export interface NextStep {
  /** Command to run next. */
  readonly next: string;
  /** True when a running `vmcp up --watch` applies the change by itself. */
  readonly isWatched: boolean;
}

/** Returns the command that starts the servers of a folder, or shows them where a `vmcp up --watch` follows the folder. */
export function nextStep(dir: string, env: Readonly<Record<string, string | undefined>>): NextStep {
  const folder = resolve(dir);
  const { watched = [] } = readRunning(resolve(defaultStateDir(env))) ?? {};
  const isWatched = watched.some((path) => folder === path || folder.startsWith(`${path}${sep}`));
  return { next: isWatched ? ownCommandLine('status') : ownCommandLine('up', dir), isWatched };
}
