import { join } from 'node:path';
import { type Programs, programsOf } from '../doctor/check.ts';
import { type Io, formatProblems } from '../validate/problems-output.ts';
import { isMemberKind } from '../../../crds/kinds/roles.ts';
import { loadManifests } from '../../source/files/load.ts';
import { type ManifestObject } from '../../source/files/manifest-object.ts';
import { DOCUMENT, FILE, type LocatedProblem } from '../../source/files/located.ts';
import { changeFiles, type FileChange } from '../../../gateway/management/state/write-files.ts';
import { examine } from '../validate/examine.ts';
import type { NewFile } from '../../source/edit/folder-files.ts';
import { endWith } from '../exit.ts';

/** Streams and environment of the process, for commands that edit a folder. */
export interface EditHost extends Io {
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** `EditHost` with the programs of the machine, for commands that write new servers. */
export interface ServerHost extends EditHost {
  readonly programs: Programs;
}

/** Returns this process and this machine. */
export const thisHost = (): ServerHost => ({
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  programs: programsOf(process.env),
});

/** Objects of a folder that a command edits. */
export interface Folder {
  readonly groups: readonly ManifestObject[];
  /** Servers and entries. */
  readonly members: readonly ManifestObject[];
  /** Names of Secrets. */
  readonly secrets: ReadonlySet<string>;
  readonly objects: readonly ManifestObject[];
}

/** Reads a folder. Returns undefined after it printed why a file cannot be read: it may hold any object. */
export async function readFolder(dir: string, { stderr }: Io): Promise<Folder | undefined> {
  const { objects, problems } = await loadManifests([dir]);
  const unreadable = problems.filter(
    ({ kind, reason }) => (kind === FILE || kind === DOCUMENT) && reason !== 'NoManifests' && reason !== 'FileNotFound',
  );
  stderr.write(formatProblems(unreadable, []));
  if (unreadable.length > 0) return undefined;
  return {
    objects,
    groups: objects.filter(({ kind }) => kind === 'MCPGroup'),
    members: objects.filter(({ kind }) => isMemberKind(kind)),
    secrets: new Set(objects.filter(({ kind }) => kind === 'Secret').map(({ name }) => name)),
  };
}

/** Returns `file:line` of the name of an object. */
export function placeOf(object: ManifestObject): string {
  const { file, line } = object.locate('metadata.name');
  return `${file}:${String(line)}`;
}

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
    endWith(error, stderr);
    return false;
  }
}

/** Validates a folder and prints its problems and warnings as `vmcp validate` does, except expected warnings. */
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
