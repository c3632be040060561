import type { Reading } from '../server-spec.ts';
import { readOptions, valuesOf } from './command-options.ts';
import type { Invocation, ReadCommand } from './invocation.ts';
import { npx } from './npx.ts';
import { ownCommand } from './own-command.ts';
import { uvx } from './uvx.ts';

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
