import { statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import type { BackendProcess } from '../../../contract/gateway-config.ts';
import { inheritedEnvironment, readEnvironmentFiles, withListenVariables, type Environment } from '../environment.ts';
import { LaunchError } from '../runner.ts';
import { findOnPath, isExecutable } from './path.ts';
import type { Scheme } from './scheme.ts';

const PREFIX = 'command://';
/** Name of a program on PATH, or an absolute path. */
const PROGRAM = /^(?:[A-Za-z0-9_][A-Za-z0-9_.+-]*|\/[^\p{Cc}]*[^\p{Cc}/])$/u;

/**
 * `command://PROGRAM`: a program of this machine, by its name on PATH or its absolute path. It starts as a package does: the arguments as
 * they are, without a shell, and only the declared environment.
 */
export const command: Scheme = {
  prefix: PREFIX,
  check: (image) => void parseCommand(image),
  prepare: async (process, request, tools) => {
    const { working_dir: cwd } = process;
    if (cwd !== undefined) checkFolder(cwd);
    const listen = request.port === undefined ? undefined : { host: '127.0.0.1', port: request.port };
    return Promise.resolve({
      file: fileOf(process, tools.hostEnv),
      args: process.args ?? [],
      env: {
        ...inheritedEnvironment(tools.hostEnv),
        ...withListenVariables(process.env_vars ?? {}, listen, request.transport),
      },
      envFiles: process.env_var_files ?? {},
      ...(cwd !== undefined && { cwd }),
    });
  },
  isInstalled(process, { hostEnv }) {
    fileOf(process, hostEnv);
    return true;
  },
};

/** Returns the file of the program. @throws LaunchError `ProgramNotFound` */
function fileOf(process: BackendProcess, hostEnv: Environment): string {
  const program = parseCommand(process.image);
  if (isAbsolute(program)) return executable(program);
  return onPath(program, findOnPath(program, { PATH: pathOf(process) ?? hostEnv['PATH'] }));
}

/** Returns the `PATH` that the server declares: clients look up its program there. @throws LaunchError `EnvironmentFileUnreadable` */
function pathOf({ env_vars: values = {}, env_var_files: { PATH: file } = {} }: BackendProcess): string | undefined {
  return values['PATH'] ?? (file === undefined ? undefined : readEnvironmentFiles({ PATH: file })['PATH']);
}

/** Returns the program of a reference. @throws LaunchError `InvalidImageReference` */
function parseCommand(image: string): string {
  const program = image.slice(PREFIX.length);
  if (PROGRAM.test(program)) return program;
  const message = `"${image}" names no program: write command://NAME for a program on PATH, or command:// with an absolute path, and its arguments in args`;
  throw new LaunchError('InvalidImageReference', message);
}

function executable(path: string): string {
  if (isExecutable(path)) return path;
  throw new LaunchError('ProgramNotFound', `${path} is not an executable file: correct the path, or build the program`);
}

function onPath(name: string, found: string | undefined): string {
  if (found !== undefined) return found;
  throw new LaunchError('ProgramNotFound', `${name} is not on PATH: install it, or write its absolute path`);
}

function checkFolder(path: string): void {
  if (isAbsolute(path) && statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return;
  throw new LaunchError('ProgramNotFound', `the working folder ${path} does not exist: create it or correct the path`);
}
