import { posix } from 'node:path';
import type { Reading } from '../server-spec.ts';
import { readOptions, valuesOf, type Invocation, type ReadCommand, variablesOf, stdioServer } from './invocation.ts';
import { npx } from './npx.ts';
import { uvx } from './uvx.ts';
import { imageScheme } from '../../../resolve/backends/server-backend.ts';
import { quoted } from '../texts.ts';
import { referencesIn } from '../placeholders.ts';

/** Options of each runner that name the package, for a command with another name. */
const PACKAGE = ['-p', '--package'];

const SILENT = ['-s', '--silent'];
const BUNX_FLAGS = ['-y', '--yes', '--silent', '--verbose'];

/** Returns the reader of a runner that is a verb of its program, such as `yarn dlx`. */
const verbOf =
  (verb: string, flags: readonly string[]): ReadCommand =>
  (invocation) => {
    const [first, ...args] = invocation.args;
    return first === verb ? asNpx(invocation, args, flags) : ownCommand(invocation);
  };

/** `pnpx PACKAGE [ARGS]` and `pnpx --package PACKAGE COMMAND [ARGS]`, also as `pnpm dlx`. */
export const pnpx: ReadCommand = (invocation) => asNpx(invocation, invocation.args, [...SILENT, '-y', '--yes']);

/** `bunx PACKAGE [ARGS]`, also as `bun x`. With `--bun` the package needs Bun, so that bunx itself runs it. */
export const bunx: ReadCommand = (invocation) => asNpx(invocation, invocation.args, BUNX_FLAGS);

export const pnpm: ReadCommand = (invocation) => {
  const [verb, ...args] = invocation.args.slice(SILENT.includes(invocation.args[0] ?? '') ? 1 : 0);
  return verb === 'dlx' ? asNpx(invocation, args, SILENT) : ownCommand(invocation);
};

export const bun = verbOf('x', BUNX_FLAGS);

/** `yarn dlx PACKAGE [ARGS]`. */
export const yarn = verbOf('dlx', ['-q', '--quiet']);

/** `npm exec [--yes] PACKAGE [-- ARGS]`, also as `npm x`. npm reads each option before `--` itself. */
export const npm: ReadCommand = (invocation) => {
  const [verb, ...args] = invocation.args;
  if (verb !== 'exec' && verb !== 'x') return ownCommand(invocation);
  const end = args.indexOf('--');
  const own = end === -1 ? args : args.slice(0, end);
  const first = own.findIndex((arg, index) => !arg.startsWith('-') && !PACKAGE.includes(own[index - 1] ?? ''));
  if (first !== -1 && own.slice(first).some((arg) => arg.startsWith('-'))) return ownCommand(invocation);
  const rest = first === -1 ? args : [...own, ...(end === -1 ? [] : args.slice(end + 1))];
  return asNpx(invocation, rest, ['-y', '--yes', '-q', '--quiet', '--silent', '--prefer-offline', '--prefer-online']);
};

/** Reads a command line with the options of a runner as npx would. Any other option leaves the runner in place. */
function asNpx(invocation: Invocation, args: readonly string[], flags: readonly string[]): Reading {
  const options = readOptions(args, { flags, valued: PACKAGE });
  if (options.unknown !== undefined) return ownCommand(invocation);
  const packages = valuesOf(options, ...PACKAGE).flatMap((name) => ['-p', name]);
  return orItself(invocation, npx({ ...invocation, args: [...packages, '--', ...options.rest] }));
}

const PIPX = {
  flags: ['-q', '--quiet', '-v', '--verbose', '--no-cache', '--no-path-check'],
  valued: ['--spec', '--python', '--with'],
};

/** `pipx run [--spec PACKAGE] COMMAND [ARGS]`. */
export const pipx: ReadCommand = (invocation) => {
  const [verb, ...args] = invocation.args;
  const options = readOptions(args, PIPX);
  if (verb !== 'run' || options.unknown !== undefined) return ownCommand(invocation);
  const more = options.values.flatMap(([option, value]) => [option === '--spec' ? '--from' : option, value]);
  return orItself(invocation, uvx({ ...invocation, args: [...more, '--', ...options.rest] }));
};

const UV_RUN = {
  flags: ['-q', '--quiet', '--isolated', '-n', '--no-cache', '--refresh', '--no-progress', '--no-project'],
  valued: ['-p', '--python', '--with'],
};

/** `uv tool run`, the long form of `uvx`, and `uv run --with PACKAGE COMMAND` where the package has the command's name. */
export const uv: ReadCommand = (invocation) => {
  const [first, second, ...args] = invocation.args;
  if (first === 'tool' && second === 'run') return uvx({ ...invocation, args });
  const options = readOptions(invocation.args.slice(1), UV_RUN);
  const isInFolder = invocation.cwd !== undefined && invocation.cwd !== '';
  if (first !== 'run' || options.unknown !== undefined || isInFolder) return ownCommand(invocation);
  const packages = valuesOf(options, '--with').flatMap((text) => text.split(','));
  const [command = ''] = options.rest;
  const main = packages.find((name) => /^[A-Za-z0-9._-]*/u.exec(name)?.[0] === command && command !== '');
  if (main === undefined) return ownCommand(invocation);
  const others = packages.filter((name) => name !== main).flatMap((name) => ['--with', name]);
  const python = valuesOf(options, '-p', '--python').flatMap((version) => ['--python', version]);
  return orItself(
    invocation,
    uvx({ ...invocation, args: ['--from', main, ...others, ...python, '--', ...options.rest] }),
  );
};

/** Returns the reading, or the command itself where npx or uvx has no equivalent. */
const orItself = (invocation: Invocation, reading: Reading): Reading =>
  'leftOut' in reading ? ownCommand(invocation) : reading;

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
