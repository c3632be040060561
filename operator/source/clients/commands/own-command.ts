import { posix } from 'node:path';
import { imageScheme } from '../../../resolve/backends/images.ts';
import { quoted } from '../quoted.ts';
import type { Reading } from '../server-spec.ts';
import { referencesIn } from '../placeholders.ts';
import { variablesOf, stdioServer, type Invocation } from './invocation.ts';

const WINDOWS_PROGRAM = /^[A-Za-z]:[\\/]|^\\\\|\.(?:exe|cmd|bat|ps1)$/iu;
/** Arguments that name a file or a module in the folder of the process: `server.js`, `./dist/server.js`, `-m server`. */
const RELATIVE_FILE = /^(?:\.{1,2}\/|[^/~$-][^:$]*\.(?:[cm]?[jt]s|py|jar|sh|rb|php|pyz|dll|wasm)$)/u;

/** Any other program, as it is: `node /work/server.js`, `python -m server`, `uv --directory /work run server`, a binary. */
export function ownCommand(invocation: Invocation): Reading {
  const { args, cwd } = invocation;
  const folder = folderOf(cwd);
  if (typeof folder === 'object') return folder;
  const program = programIn(invocation.program, folder);
  if (isWholeLine(program, args) || WINDOWS_PROGRAM.test(program) || imageScheme(`command://${program}`) !== 'command')
    return { leftOut: leftOutFor(program) };
  const more = folder === undefined ? {} : { workingDir: folder };
  const reading = stdioServer(`command://${program}`, args, variablesOf(invocation), more);
  if (folder !== undefined || choosesFolder(args)) return reading;
  const relative = args.find((arg, index) => isRelative(arg, args[index - 1]));
  if (relative === undefined) return reading;
  const note = `${quoted(relative)} is read in the folder where you start vmcp: write an absolute path, or set workingDir`;
  return { ...reading, warnings: [note, ...reading.warnings] };
}

/** Returns the working folder of a server; undefined when it names no folder. */
function folderOf(cwd: unknown): string | undefined | { readonly leftOut: string } {
  if (cwd === undefined || cwd === '') return undefined;
  const isUsable = typeof cwd === 'string' && cwd.startsWith('/') && referencesIn(cwd).length === 0;
  if (isUsable) return cwd;
  const shown = typeof cwd === 'string' ? ` ${quoted(cwd)}` : '';
  return { leftOut: `its cwd${shown} is not an absolute path of this machine: write one` };
}

/** Resolves `./server` and `bin/server` in the working folder, as the system does. */
const programIn = (program: string, folder: string | undefined): string =>
  folder !== undefined && program.includes('/') && !/^[/~$\\]|^[A-Za-z]:/u.test(program)
    ? posix.join(folder, program)
    : program;

/** Returns true for a path with arguments behind it, as some people write the whole line as `command`. */
const isWholeLine = (program: string, args: readonly string[]): boolean =>
  args.length === 0 && /\s(?:[-/]|https?:)/u.test(program);

const leftOutFor = (program: string): string => {
  const shown = quoted(program.split(' -')[0] ?? '');
  if (/\s/u.test(program) && !WINDOWS_PROGRAM.test(program))
    return `its command ${shown} is not npx, uvx or docker, and no single program: write only the program into command, and each argument into args`;
  if (WINDOWS_PROGRAM.test(program))
    return `its command ${shown} is not npx, uvx or docker: publish the server as a package or an image, or start it yourself and add its URL`;
  return `its command ${shown} is neither the name of a program nor an absolute path: write one`;
};

/** Options by which uv, bun, yarn, pnpm, npm, go and make change the folder first. */
const FOLDER_OPTION = /^(?:--directory|--cwd|--dir|--prefix|-C)(?:=(.*))?$/su;

/** Returns true for an option that names an absolute folder in which the command finds its files. */
const choosesFolder = (args: readonly string[]): boolean =>
  args.some((arg, index) => {
    const [option, inline = args[index + 1]] = FOLDER_OPTION.exec(arg) ?? [];
    return option !== undefined && inline?.startsWith('/') === true;
  });

const isRelative = (arg: string, before: string | undefined): boolean => before === '-m' || RELATIVE_FILE.test(arg);
