import { existsSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { inheritedEnvironment, withListenVariables } from '../environment.ts';
import { installationOf, isComplete, type Installation } from './installation/installation.ts';
import { installFailed, noCommand } from './installation/package-errors.ts';
import { reportProgress } from './install-progress.ts';
import { findOnPath } from './path.ts';
import { findPythons, requiredPython } from './installation/python-version.ts';
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
/** Lines of pip and uv that name a package, or a version of it, that the index does not have. */
const NOT_FOUND =
  /(?:No matching distribution found for|no versions? of) ([\w.-]+)|(?:because|and) ([\w.-]+) was not found in the package registry/gi;
/** Lines by which pip reports an unreachable index, before it prints "No matching distribution" as for a missing package. */
const NOT_REACHED = /Retrying \(Retry|Could not fetch URL|connection error|Failed to fetch/i;
/** Line of `uv venv` about a Python: it downloads nothing else. */
const NOT_DOWNLOADED = /Failed to download/i;
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
    const installation = installationOf(process, tools.hostEnv);
    const dir = installFolder(spec, installation, tools.stateDir);
    const packages = [spec.requirement, ...installation.extra] as const;
    const python = process.package?.python;
    const target = { packages, dir, env: installation.env, ...(python !== undefined && { python }) };
    await tools.installOnce(dir, () => install(target, request.name, tools));
    const listen = request.port === undefined ? undefined : { host: '127.0.0.1', port: request.port };
    return {
      file: join(dir, 'bin', await findScript(dir, spec.name, process.package?.command)),
      args: process.args ?? [],
      env: {
        ...inheritedEnvironment(tools.hostEnv),
        ...withListenVariables(process.env_vars ?? {}, listen, request.transport),
      },
      envFiles: process.env_var_files ?? {},
    };
  },
  isInstalled(process, { hostEnv, stateDir }) {
    return isComplete(installFolder(parseUvx(process.image), installationOf(process, hostEnv), stateDir));
  },
};

const installFolder = ({ requirement }: PythonSpec, { suffix }: Installation, stateDir: string): string =>
  join(stateDir, 'packages', 'python', `${requirement}${suffix}`);

export function parseUvx(image: string): PythonSpec {
  const [, name, extras = '', version] = SPEC.exec(image.slice(PREFIX.length)) ?? [];
  if (name === undefined) {
    const message = `"${image}" is not a package reference: write uvx://PACKAGE or uvx://PACKAGE==VERSION`;
    throw new LaunchError('InvalidImageReference', message);
  }
  return { name, requirement: `${name}${extras}${version === undefined ? '' : `==${version}`}` };
}

/** Virtual environment to create. */
interface Target {
  readonly dir: string;
  /** Requirements: the package, then those that are installed with it. */
  readonly packages: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  /** Python that the user has chosen. */
  readonly python?: string;
}

/**
 * Creates the virtual environment with the default Python. A package that needs another one says so, and gets it, unless the user has chosen
 * one.
 */
function install(target: Target, workload: string, tools: Tools): Promise<void> {
  const { dir, packages, python = target.env['UV_PYTHON'] } = target;
  const [requirement] = packages;
  const facts = { workload, package: requirement };
  return reportProgress({ facts, dir, log: tools.log, display: tools.display }, async () => {
    const failed = await makeEnvironment({ ...target, ...(python && { python }) }, workload, tools);
    if (failed === undefined) return;
    const required = requiredPython(failed.stderr);
    if (required === undefined) throw installFailure(failed, requirement, workload, tools);
    if (python) {
      const message = `${requirement} needs Python ${required}, and package.python or UV_PYTHON asks for ${python}: correct or remove it`;
      throw new LaunchError('PythonNotFound', message);
    }
    await rm(dir, { recursive: true, force: true });
    const again = await makeEnvironment({ ...target, python: required }, workload, tools);
    if (again !== undefined) throw installFailure(again, requirement, workload, tools);
  });
}

interface Failed extends RunResult {
  /** Command that failed. */
  readonly step: string;
  /** Python that this command had to find. */
  readonly python?: string | undefined;
}

/** Creates the virtual environment and installs the packages into it. Returns the step that failed. */
async function makeEnvironment(target: Target, workload: string, tools: Tools): Promise<Failed | undefined> {
  const { dir, packages, env, python: wanted } = target;
  const run = (file: string, args: string[]) => tools.run({ file, args, env }, workload, INSTALL_TIMEOUT_MS);
  const uv = findOnPath('uv', tools.hostEnv);
  const facts = { workload, package: packages[0], dir, with: uv ?? 'pip' };
  if (!tools.display)
    tools.log.info('installing package', { ...facts, ...(wanted !== undefined && { python: wanted }) });
  const python = join(dir, 'bin', 'python');
  if (uv === undefined) await makeVenv({ dir, wanted, requirement: packages[0] }, run, tools);
  else {
    const made = await run(uv, ['venv', '--quiet', ...(wanted === undefined ? [] : ['--python', wanted]), '--', dir]);
    if (made.code !== 0 && /^error: No interpreter found/mu.test(made.stderr)) throw noPython(packages[0], wanted);
    if (made.code !== 0) return { ...made, step: 'uv venv', python: wanted };
  }
  const installed =
    uv === undefined
      ? await run(python, ['-m', 'pip', 'install', '--quiet', '--no-input', '--', ...packages])
      : await run(uv, ['pip', 'install', '--quiet', '--python', python, '--', ...packages]);
  if (installed.code === 0) return undefined;
  return { ...installed, step: uv === undefined ? 'pip install' : 'uv pip install' };
}

interface Venv {
  readonly dir: string;
  readonly wanted: string | undefined;
  readonly requirement: string;
}

async function makeVenv(
  { dir, wanted, requirement }: Venv,
  run: (file: string, args: string[]) => Promise<RunResult>,
  tools: Tools,
): Promise<void> {
  const first = findOnPath('python3', tools.hostEnv) ?? findOnPath('python', tools.hostEnv);
  const advice = 'install uv (https://docs.astral.sh/uv) or Python 3 with its venv module';
  if (first === undefined) throw new LaunchError('UvxUnavailable', `neither uv nor python3 is on PATH: ${advice}`);
  const pythons = wanted === undefined ? [first] : findPythons(wanted, tools.hostEnv);
  for (const python of pythons) {
    // A shim of pyenv is on PATH also for a version that is not active.
    if ((await run(python, ['-m', 'venv', dir])).code === 0) return;
  }
  if (wanted !== undefined) throw noPython(requirement, wanted);
  throw new LaunchError('UvxUnavailable', `${first} cannot create a virtual environment: ${advice}`);
}

const noPython = (requirement: string, wanted = ''): LaunchError =>
  new LaunchError(
    'PythonNotFound',
    `${requirement} needs Python ${wanted}, which this machine does not have: install it, or uv (https://docs.astral.sh/uv), which downloads it`,
  );

function installFailure(
  { stderr, step, python }: Failed,
  requirement: string,
  workload: string,
  tools: Tools,
): LaunchError {
  if (isMissing(requirement, stderr) && !NOT_REACHED.test(stderr)) {
    return new LaunchError('PackageNotFound', `PyPI has no package ${requirement}: check its name and version`);
  }
  tools.log.warn('package not installed', { workload, package: requirement, output: stderr });
  const lines = stderr.split('\n').map((line) => line.trim());
  const cause = lines.findLast((line) => CAUSE.test(line))?.replace(CAUSE, '') ?? lines.findLast(Boolean) ?? '';
  const lacksPython = python !== undefined && NOT_DOWNLOADED.test(stderr);
  const first = lacksPython ? `this machine has no Python ${python}, and uv cannot download it: ` : '';
  return installFailed(step, requirement, first + cause);
}

/** Returns true if the index lacks the package itself, not a package that it depends on. */
function isMissing(requirement: string, stderr: string): boolean {
  const missing = [...stderr.matchAll(NOT_FOUND)].map(([, wanted, needed = '']) => normalize(wanted ?? needed));
  const [name = ''] = /^[\w.-]+/.exec(requirement) ?? [];
  return missing.includes(normalize(name));
}

/** Returns the chosen script; without a choice, the script with the package's name, as uvx does, or the only script. */
async function findScript(dir: string, name: string, wanted: string | undefined): Promise<string> {
  const exists = (script: string): boolean => existsSync(join(dir, 'bin', script));
  if (wanted !== undefined && exists(wanted)) return wanted; // also one of a package that is installed with it
  const scripts = await consoleScripts(dir, name);
  if (wanted === undefined) {
    const own = scripts.find((script) => normalize(script) === normalize(name));
    const script = own ?? (scripts.length === 1 ? scripts[0] : undefined);
    if (script !== undefined && exists(script)) return script;
  }
  throw noCommand(name, scripts, wanted);
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
