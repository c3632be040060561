import { join, resolve, sep } from 'node:path';
import { jsonText } from '../../../gateway/contract/text/printable.ts';
import { type NewFile, SECRETS_FILE } from '../../source/edit/folder-files.ts';
import { readRunning, defaultStateDir } from '../../local/state.ts';
import { ownCommandLine } from '../own-command.ts';
import { renderTable } from '../table.ts';
import type { EditHost } from './folder.ts';
import type { MissingValue } from '../../source/edit/resource-text.ts';
import type { LocatedProblem } from '../../source/files/located.ts';
import type { Io } from '../validate/problems-output.ts';
import { imageScheme, type ImageScheme } from '../../resolve/backends/server-backend.ts';
import type { ServerSpec } from '../../source/clients/server-spec.ts';
import type { Check, Programs } from '../doctor/check.ts';
import { containerEngine, npmCheck, python } from '../doctor/machine.ts';

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

/** Prints the keys that the user must fill in before the servers start. */
export function printMissing(missing: readonly MissingValue[], dir: string, { stderr }: Io): void {
  for (const { secret, key, origin } of missing)
    stderr.write(`fill in ${join(dir, SECRETS_FILE)}: ${secret}/${key}${origin === '' ? '' : ` (${origin})`}\n`);
}

/** Returns true for the problem that a key is missing which `printMissing` has named. */
export const isMissingValue =
  (missing: readonly MissingValue[]) =>
  ({ reason, message }: LocatedProblem): boolean =>
    reason === 'SecretKeyNotFound' &&
    missing.some(({ secret, key }) => message.startsWith(`Secret "${secret}" has no key "${key}"`));

/** Checks of the programs that start a server, by the form of its image. */
const NEEDS: Readonly<Record<Exclude<ImageScheme, 'command'>, Check<Programs>>> = {
  npx: npmCheck,
  uvx: python,
  oci: containerEngine,
};

interface NamedServer {
  readonly name: string;
  readonly spec: ServerSpec;
}

/** Returns a line for each program that is missing on this machine, with the servers that need it. */
export async function unmetNeeds(servers: readonly NamedServer[], programs: Programs): Promise<string[]> {
  const schemes = Map.groupBy(servers, ({ spec }) => (spec.runs === 'here' ? imageScheme(spec.image) : undefined));
  const lines = [...schemes].map(async ([scheme, needy]) => {
    if (scheme === undefined) return [];
    if (scheme === 'command') return needy.flatMap((server) => missingProgram(server, programs));
    const { state, message } = await NEEDS[scheme].run(programs);
    if (state === 'ok') return [];
    return [`${needy.map(({ name }) => name).join(', ')}: ${message} (check again: ${ownCommandLine('doctor')})`];
  });
  return (await Promise.all(lines)).flat();
}

/** Returns a line for a server whose program is not on PATH. A server with a PATH of its own finds its program there. */
function missingProgram({ name, spec }: NamedServer, { find }: Programs): string[] {
  if (spec.runs !== 'here' || [...spec.env, ...spec.secrets].some((variable) => variable.name === 'PATH')) return [];
  const program = spec.image.replace('command://', '');
  if (program.startsWith('/') || find(program) !== undefined) return [];
  return [`${name}: ${program} is not on PATH: install it, or write its absolute path into ${name}.yaml`];
}
