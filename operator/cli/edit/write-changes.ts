import { join } from 'node:path';
import { changeFiles, type FileChange, UserFileError } from '../../../gateway/management/state/write-files.ts';
import { examine } from '../validate/examine.ts';
import { formatProblems, type Io } from '../validate/problems-output.ts';
import type { EditHost } from './edit-host.ts';
import type { NewFile } from '../../source/edit/folder-files.ts';
import type { LocatedProblem } from '../../source/files/located.ts';

/** Any folder: rendered paths are not printed. */
const NO_STATE = '/';

/** Returns the changes that create files in a folder. */
export const newFiles = (dir: string, files: readonly NewFile[]): FileChange[] =>
  files.map(({ name, text, mode }) => ({ path: join(dir, name), text, ...(mode !== undefined && { mode }) }));

/** Changes files. On failure prints the reason and returns false. */
export function writeChanges(changes: readonly FileChange[], { stderr }: Io): boolean {
  try {
    changeFiles(changes);
    return true;
  } catch (error) {
    if (!(error instanceof UserFileError)) throw error;
    stderr.write(`${error.message}\n`);
    return false;
  }
}

/** Validates a folder and prints its problems and warnings as `vmcp validate` does, except expected ones. */
export async function printProblems(
  dir: string,
  { stderr, env }: EditHost,
  isExpected: (problem: LocatedProblem) => boolean = () => false,
): Promise<void> {
  const { problems, warnings } = await examine([dir], { hostEnv: env }, NO_STATE);
  stderr.write(
    formatProblems(
      problems.filter((problem) => !isExpected(problem)),
      warnings,
    ),
  );
}
