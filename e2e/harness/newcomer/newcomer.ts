import { execFile } from 'node:child_process';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '../poll.ts';
import type { Scope } from '../scope.ts';
import { root, runCommand, temporaryFolder, within, type Exit, type Run } from '../vmcp.ts';

/** Size of the user's terminal. */
export const COLUMNS = 110;
const ROWS = 40;

/** A new user at a terminal: an empty home folder, an empty npm cache, and the Node of the machine. */
export interface Newcomer {
  readonly home: string;
  /** Starts a shell command in `folder` below the home folder. */
  start(command: string, folder?: string): Promise<Run>;
  /** Runs a shell command until it ends. */
  run(command: string, folder?: string): Promise<Exit & { output: string }>;
}

/** Variables that a user's network may need, such as those of a proxy. */
const OF_THE_NETWORK = /proxy$|cert|ssl|^npm_config_registry$/iu;

export async function newcomer(scope: Scope): Promise<Newcomer> {
  const home = await temporaryFolder(scope);
  const inherited = Object.entries(process.env).filter(([name]) => OF_THE_NETWORK.test(name));
  const env = {
    ...(Object.fromEntries(inherited) as Record<string, string>),
    // npm adds the programs of this checkout
    PATH: (process.env['PATH'] ?? '')
      .split(':')
      .filter((folder) => !folder.includes('node_modules'))
      .join(':'),
    HOME: home,
    TERM: 'xterm-256color',
    npm_config_cache: join(home, '.npm'),
  };
  const start = (command: string, folder = '.'): Promise<Run> => {
    // an installation must not starve the tests beside it
    const shell = ['nice', '-n', '5', 'sh', '-c', `stty cols ${String(COLUMNS)} rows ${String(ROWS)}; ${command}`];
    return runCommand(scope, shell, { cwd: join(home, folder), env, terminal: true });
  };
  const run: Newcomer['run'] = async (command, folder) => {
    const running = await start(command, folder);
    const exit = await within(running.exited, 120_000, () => `${command} does not end:\n${running.output()}`);
    return { ...exit, output: running.output() };
  };
  return { home, start, run };
}

/** Waits until `vmcp up` has printed its table. @throws Error with the output when it ends before, or after `timeoutMs` */
export async function untilTable(running: Run, timeoutMs: number): Promise<void> {
  const hasTable = (): boolean => /^quickstart +http:\/\/127\.0\.0\.1:\d+\/mcp/mu.test(running.output());
  const outcome = await eventually('the table', () => !running.running() || hasTable(), { timeoutMs }).catch(
    () => false,
  );
  if (!outcome || !hasTable()) throw new Error(`there is no table:\n${running.output()}`);
}

const git = async (...args: string[]): Promise<string[]> => {
  const { stdout } = await promisify(execFile)('git', args, { cwd: root });
  return stdout.split('\0').filter((path) => path !== '');
};

/** Copies the files that differ from the last commit of this checkout to a clone of it. */
export async function copyUncommitted(clone: string): Promise<void> {
  const changed = await git('diff', '--name-only', '--no-renames', '-z', '--diff-filter=d', 'HEAD');
  const added = await git('ls-files', '--others', '--exclude-standard', '-z');
  for (const path of [...changed, ...added]) await cp(join(root, path), join(clone, path), { recursive: true });
  for (const path of await git('diff', '--name-only', '--no-renames', '-z', '--diff-filter=D', 'HEAD')) {
    await rm(join(clone, path), { force: true });
  }
}
