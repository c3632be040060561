import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inheritedEnvironment, installerEnvironment, withListenVariables } from '../environment.ts';
import { reportProgress } from './install-progress.ts';
import { findOnPath } from './path.ts';
import { LaunchError } from '../runner.ts';
import type { RunResult, Scheme, Tools } from './scheme.ts';

interface PythonSpec {
  readonly name: string;
  /** Requirement for pip and uv: `name[extras]==version`. */
  readonly requirement: string;
}

const PREFIX = 'uvx://';
const SPEC =
  /^([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(\[[A-Za-z0-9._,-]+\])?(?:==([A-Za-z0-9][A-Za-z0-9.!+_-]*))?$/;
const INSTALL_TIMEOUT_MS = 300_000;
const NOT_FOUND = /No matching distribution|not found in the package registry|no version of|no versions of/i;
/** Lines by which pip reports an unreachable index, before it prints "No matching distribution" as for a missing package. */
const NOT_REACHED = /Retrying \(Retry|Could not fetch URL|connection error|Failed to fetch/i;
/** The last line that begins so says why it failed; uv prints advice after it. */
const CAUSE = /^(?:error|cause|caused by): /i;

/**
 * `uvx://PACKAGE[==VERSION]`: a virtual environment below the state folder, created by `uv` if it is on PATH, else by
 * `python3 -m venv` and pip. Its script is executed directly, without a wrapper process.
 */
export const uvx: Scheme = {
  prefix: PREFIX,
  check: (image) => void parseUvx(image),
  async prepare(process, request, tools) {
    const spec = parseUvx(process.image);
    const dir = join(tools.stateDir, 'packages', 'python', spec.requirement);
    await tools.installOnce(dir, () => install(spec, dir, request.name, tools));
    const listen = request.port === undefined ? undefined : { host: '127.0.0.1', port: request.port };
    return {
      file: join(dir, 'bin', await findScript(dir, spec.name)),
      args: process.args ?? [],
      env: {
        ...inheritedEnvironment(tools.hostEnv),
        ...withListenVariables(process.env_vars ?? {}, listen, request.transport),
      },
      envFiles: process.env_var_files ?? {},
    };
  },
};

export function parseUvx(image: string): PythonSpec {
  const [, name, extras = '', version] = SPEC.exec(image.slice(PREFIX.length)) ?? [];
  if (name === undefined) {
    const message = `"${image}" is not a package reference: write uvx://PACKAGE or uvx://PACKAGE==VERSION`;
    throw new LaunchError('InvalidImageReference', message);
  }
  return { name, requirement: `${name}${extras}${version === undefined ? '' : `==${version}`}` };
}

function install({ requirement }: PythonSpec, dir: string, workload: string, tools: Tools): Promise<void> {
  const facts = { workload, package: requirement };
  return reportProgress({ facts, dir, log: tools.log }, () => makeEnvironment(requirement, dir, workload, tools));
}

/** Creates the virtual environment and installs the package into it. */
async function makeEnvironment(requirement: string, dir: string, workload: string, tools: Tools): Promise<void> {
  const env = installerEnvironment(tools.hostEnv);
  const run = (file: string, args: string[]) => tools.run({ file, args, env }, workload, INSTALL_TIMEOUT_MS);
  const uv = findOnPath('uv', tools.hostEnv);
  tools.log.info('installing package', { workload, package: requirement, dir, with: uv ?? 'pip' });
  const python = join(dir, 'bin', 'python');
  const expectDone = (result: RunResult, step: string) => {
    if (result.code === 0) return;
    const failure = installFailure(result, requirement, step);
    if (failure.reason !== 'PackageNotFound')
      tools.log.warn('package not installed', { workload, package: requirement, output: result.stderr });
    throw failure;
  };
  if (uv === undefined) await makeVenv(dir, run, tools);
  else expectDone(await run(uv, ['venv', '--quiet', dir]), 'uv venv');
  const installed =
    uv === undefined
      ? await run(python, ['-m', 'pip', 'install', '--quiet', '--no-input', '--', requirement])
      : await run(uv, ['pip', 'install', '--quiet', '--python', python, '--', requirement]);
  expectDone(installed, uv === undefined ? 'pip install' : 'uv pip install');
}

async function makeVenv(
  dir: string,
  run: (file: string, args: string[]) => Promise<RunResult>,
  tools: Tools,
): Promise<void> {
  const python = findOnPath('python3', tools.hostEnv) ?? findOnPath('python', tools.hostEnv);
  const advice = 'install uv (https://docs.astral.sh/uv) or Python 3 with its venv module';
  if (python === undefined) {
    throw new LaunchError('UvxUnavailable', `neither uv nor python3 is on PATH: ${advice}`);
  }
  const { code } = await run(python, ['-m', 'venv', dir]);
  if (code !== 0) throw new LaunchError('UvxUnavailable', `${python} cannot create a virtual environment: ${advice}`);
}

function installFailure({ stderr }: RunResult, requirement: string, step: string): LaunchError {
  if (NOT_FOUND.test(stderr) && !NOT_REACHED.test(stderr)) {
    return new LaunchError('PackageNotFound', `PyPI has no package ${requirement}: check its name and version`);
  }
  const lines = stderr.split('\n').map((line) => line.trim());
  const reason = lines.findLast((line) => CAUSE.test(line))?.replace(CAUSE, '') ?? lines.findLast(Boolean) ?? '';
  return new LaunchError('InstallFailed', `${step} ${requirement} failed (${reason}): see the log, then try again`);
}

/** Returns the script by the rule of uvx, or the only script when none has the package's name. */
async function findScript(dir: string, name: string): Promise<string> {
  const scripts = await consoleScripts(dir, name);
  const chosen = scripts.find((script) => normalize(script) === normalize(name)) ?? scripts[0];
  const single = scripts.length === 1 || (chosen !== undefined && normalize(chosen) === normalize(name));
  if (chosen !== undefined && single && existsSync(join(dir, 'bin', chosen))) return chosen;
  const has = scripts.length === 0 ? 'has no command to run' : `has several commands (${scripts.join(', ')})`;
  throw new LaunchError('PackageHasNoBin', `package ${name} ${has}: use a package whose own command is an MCP server`);
}

/** Reads the names in `[console_scripts]` of the distribution's entry_points.txt. */
async function consoleScripts(dir: string, name: string): Promise<string[]> {
  for (const python of await readdir(join(dir, 'lib'))) {
    const packages = join(dir, 'lib', python, 'site-packages');
    const infos = existsSync(packages) ? await readdir(packages) : [];
    const info = infos.find(
      (entry) => entry.endsWith('.dist-info') && normalize(entry.split('-')[0] ?? '') === normalize(name),
    );
    if (info === undefined) continue;
    const text = await readFile(join(packages, info, 'entry_points.txt'), 'utf8').catch(() => '');
    return namesInSection(text, 'console_scripts');
  }
  return [];
}

/** Returns the keys of one section of an INI file. */
function namesInSection(text: string, section: string): string[] {
  const lines = text.split('\n').map((line) => line.trim());
  const start = lines.indexOf(`[${section}]`) + 1;
  if (start === 0) return [];
  const length = lines.slice(start).findIndex((line) => line.startsWith('['));
  return lines
    .slice(start, length === -1 ? undefined : start + length)
    .filter((line) => line.includes('=') && !/^[=#;]/.test(line))
    .map((line) => line.slice(0, line.indexOf('=')).trim());
}

/** Normalizes a package name (PEP 503). */
const normalize = (name: string): string => name.toLowerCase().replaceAll(/[-_.]+/g, '-');
