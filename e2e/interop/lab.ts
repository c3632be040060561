import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { attempt } from '../cluster/harness/command.ts';
import { installerEnvironment } from '../../gateway/workloads/runner/environment.ts';
import type { Scope } from '../harness/scope.ts';
import { root } from '../harness/vmcp.ts';

/** Folder that keeps what the entries install, and the state of an interrupted run. */
export const CACHE = join(root, '.cache', 'interop');
const INSTALL_MS = 20 * 60_000;

/** Surroundings of the entry that runs. */
export interface Lab {
  /** Stops processes at the end of the entry, in reverse order. */
  readonly scope: Scope;
  /** Prints a line of progress. */
  step(text: string): void;
}

/** Runs a command of an installation, with low priority. @throws Error with the end of its output */
export async function runInstaller(
  folder: string,
  [file = '', ...args]: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const line = ['-n', '10', 'env', '-C', folder, file, ...args];
  const { code, stdout, stderr } = await attempt('nice', line, { env, timeoutMs: INSTALL_MS });
  if (code === 0) return stdout;
  const output = `${stdout}\n${stderr}`.trim().split('\n').slice(-12).join('\n');
  throw new Error(`${file} ${args.join(' ')} ended with ${String(code)}:\n${output}`);
}

/**
 * Returns the folder `name` of the cache, in which `install` has run for this `key` (versions, texts of files). A folder
 * of another key, or of an interrupted installation, is emptied first.
 */
export async function installed(
  lab: Pick<Lab, 'step'>,
  name: string,
  key: string,
  install: (folder: string) => Promise<void>,
): Promise<string> {
  const folder = join(CACHE, name);
  const marker = join(folder, '.installed');
  if (existsSync(marker) && (await readFile(marker, 'utf8')) === key) return folder;
  lab.step(`installing in ${folder.slice(root.length + 1)}`);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await install(folder);
  await writeFile(marker, key);
  return folder;
}

/** Program of a package of npm. */
export interface NpmProgram {
  readonly name: string;
  readonly version: string;
  /** Package of npm, and its command. */
  readonly npm: string;
  readonly command: string;
}

/** Installs a program from npm. Returns the path of its command. */
export async function installProgram(lab: Lab, { name, npm, version, command }: NpmProgram): Promise<string> {
  const wanted = `${npm}@${version}`;
  const folder = await installed(lab, join('clients', name), wanted, async (place) => {
    await writeFile(join(place, 'package.json'), '{"private":true}');
    await runInstaller(place, ['npm', 'install', '--no-audit', '--no-fund', '--loglevel=error', wanted]);
  });
  return join(folder, 'node_modules', '.bin', command);
}

/** Writes the output of a process to a file of the cache, for whoever looks for the reason of a failure. */
export async function keepLog(name: string, text: string): Promise<void> {
  const folder = join(CACHE, 'logs');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, `${name}.log`), text);
}

/** Starts every server of PyPI and every client in Python. */
const UV = 'uv==0.13.9';

/** Returns the variables by which this machine reaches registries: its CA, its mirrors. */
export function registryEnvironment(): Record<string, string> {
  const { HOME: _home, ...others } = installerEnvironment(process.env);
  return others;
}

/** Returns the environment in which `vmcp up` and installers find `uv`. */
export async function uvEnvironment(lab: Pick<Lab, 'step'>): Promise<Record<string, string>> {
  const folder = await installed(lab, 'uv', UV, async (place) => {
    await runInstaller(place, ['python3', '-m', 'venv', '.']);
    await runInstaller(place, ['bin/pip', 'install', '--quiet', '--disable-pip-version-check', UV]);
  });
  return {
    ...registryEnvironment(),
    PATH: `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}`,
    UV_CACHE_DIR: join(CACHE, 'uv-cache'),
    UV_SYSTEM_CERTS: '1',
    npm_config_cache: join(CACHE, 'npm-cache'),
  };
}
