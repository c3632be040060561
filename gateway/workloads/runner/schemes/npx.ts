import { satisfies } from 'semver';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { BackendProcess } from '../../../contract/gateway-config.ts';
import { inheritedEnvironment, withListenVariables } from '../environment.ts';
import { installationOf, isComplete, type Installation } from './installation/installation.ts';
import { npmCause, installFailed, noCommand } from './installation/package-errors.ts';
import { reportProgress } from './install-progress.ts';
import { findOnPath, isExecutable } from './path.ts';
import { LaunchError } from '../runner.ts';
import type { Place, PrepareRequest, Scheme, Tools } from './scheme.ts';
import { isObject } from '../../../contract/json.ts';

interface PackageSpec {
  readonly name: string;
  /** Version, range or tag of npm. */
  readonly version?: string;
}

interface Manifest {
  readonly name?: unknown;
  readonly version?: unknown;
  readonly bin?: unknown;
}

const PREFIX = 'npx://';
const SPEC = /^((?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~][a-z0-9._~-]*)(?:@([A-Za-z0-9^~*<>=][A-Za-z0-9^~*.<>=+_-]*))?$/;
const INSTALL_TIMEOUT_MS = 300_000;
/** Shorter retry pauses: with npm's own, a machine without a network waits for more than a minute. */
const RETRY = ['--fetch-retry-mintimeout=500', '--fetch-retry-maxtimeout=2000'];

/**
 * `npx://PACKAGE[@VERSION]`: uses the project's copy of that version, else installs the package below the state folder.
 * The install is kept: delete `<state>/packages/npm` to fetch a newer version of a tag or range.
 */
export const npx: Scheme = {
  prefix: PREFIX,
  check: (image) => void parseNpx(image),
  async prepare(process, request, tools) {
    const spec = parseNpx(process.image);
    const installation = installationOf(process, tools.hostEnv);
    const dir = ownCopy(spec, installation, tools) ?? (await install(spec, installation, request.name, tools));
    return packageCommand(binPath(dir, spec.name, process.package?.command), process, request, tools);
  },
  isInstalled(process, place) {
    const spec = parseNpx(process.image);
    const installation = installationOf(process, place.hostEnv);
    return (
      ownCopy(spec, installation, place) !== undefined || isComplete(installFolder(spec, installation, place.stateDir))
    );
  },
};

export function parseNpx(image: string): PackageSpec {
  const [, name, version] = SPEC.exec(image.slice(PREFIX.length)) ?? [];
  if (name === undefined) {
    const message = `"${image}" is not a package reference: write npx://PACKAGE or npx://PACKAGE@VERSION`;
    throw new LaunchError('InvalidImageReference', message);
  }
  return version === undefined ? { name } : { name, version };
}

/** Returns the command for a file of a package: node, or the interpreter in its first line, such as bun or sh. */
function packageCommand(bin: string, spec: BackendProcess, request: PrepareRequest, tools: Tools) {
  const listen = request.port === undefined ? undefined : { host: '127.0.0.1', port: request.port };
  const args = spec.args ?? [];
  return {
    ...(isForNode(bin) ? { file: process.execPath, args: [bin, ...args] } : { file: bin, args }),
    env: {
      ...inheritedEnvironment(tools.hostEnv),
      ...withListenVariables(spec.env_vars ?? {}, listen, request.transport),
    },
    envFiles: spec.env_var_files ?? {},
  };
}

/** Returns false for an executable file whose first line names another interpreter than node. */
function isForNode(bin: string): boolean {
  if (!isExecutable(bin)) return true;
  const [interpreter] = readFileSync(bin).subarray(0, 200).toString('latin1').split('\n');
  return !/^#!/u.test(interpreter ?? '') || /\bnode(?:js)?\b/u.test(interpreter ?? '');
}

/** Returns the project's copy of a package without choices. */
const ownCopy = (spec: PackageSpec, { suffix }: Installation, { projectRoot }: Place): string | undefined =>
  suffix === '' ? findInProject(projectRoot, spec) : undefined;

/** Searches parent folders as Node does. Skips copies of another version. */
function findInProject(root: string, { name, version }: PackageSpec): string | undefined {
  for (let dir = resolve(root); ; dir = dirname(dir)) {
    const candidate = join(dir, 'node_modules', name);
    const found = readManifest(candidate);
    if (found && (version === undefined || isVersion(found.version, version))) return candidate;
    if (dirname(dir) === dir) return undefined;
  }
}

/** Returns true when a local copy satisfies the version. Only the registry can resolve a tag such as `next`. */
const isVersion = (found: unknown, requested: string): boolean =>
  typeof found === 'string' && satisfies(found, requested);

const requestedOf = ({ name, version = 'latest' }: PackageSpec): string => `${name}@${version}`;

const installFolder = (spec: PackageSpec, { suffix }: Installation, stateDir: string): string =>
  join(stateDir, 'packages', 'npm', `${requestedOf(spec).replace('/', '+')}${suffix}`);

async function install(spec: PackageSpec, installation: Installation, workload: string, tools: Tools): Promise<string> {
  const requested = requestedOf(spec);
  const dir = installFolder(spec, installation, tools.stateDir);
  await tools.installOnce(dir, () => npmInstall({ requested, dir, installation }, workload, tools));
  return join(dir, 'node_modules', spec.name);
}

interface Target {
  readonly requested: string;
  readonly dir: string;
  readonly installation: Installation;
}

async function npmInstall({ requested, dir, installation }: Target, workload: string, tools: Tools): Promise<void> {
  const npm = findOnPath('npm', tools.hostEnv);
  if (npm === undefined) {
    throw new LaunchError(
      'InstallFailed',
      `${requested} is not installed and npm is not on PATH: install npm or the package`,
    );
  }
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await writeFile(join(dir, 'package.json'), '{"private":true}\n');
  const facts = { workload, package: requested };
  const { log, display } = tools;
  if (!display) log.info('installing package', { ...facts, dir });
  const args = [
    'install',
    '--no-audit',
    '--no-fund',
    '--no-update-notifier',
    '--loglevel=error',
    ...RETRY,
    '--',
    requested,
    ...installation.extra,
  ];
  const command = { file: npm, args, env: installation.env, cwd: dir };
  const { code, stderr } = await reportProgress({ facts, dir, log, display }, () =>
    tools.run(command, workload, INSTALL_TIMEOUT_MS),
  );
  if (code === 0) return;
  if (/code E404|code ETARGET|code EINVALIDPACKAGENAME/.test(stderr)) {
    throw new LaunchError('PackageNotFound', `npm has no package ${requested}: check its name and version`);
  }
  tools.log.warn('package not installed', { workload, package: requested, output: stderr });
  throw installFailed('npm install', requested, npmCause(stderr));
}

/** Returns the file of the chosen command; without a choice, by the rule of npx, of the only command or that with the package's name. */
function binPath(dir: string, name: string, chosen: string | undefined): string {
  const bin = readManifest(dir)?.bin;
  const own = name.replace(/^@[^/]*\//, '');
  const commands = new Map(Object.entries(typeof bin === 'string' ? { [own]: bin } : isObject(bin) ? bin : {}));
  const targets = new Set(commands.values());
  const target = chosen === undefined && targets.size === 1 ? [...targets][0] : commands.get(chosen ?? own);
  if (typeof target === 'string') return join(dir, target);
  const linked = chosen === undefined ? undefined : join(dir.slice(0, -name.length), '.bin', chosen);
  if (linked !== undefined && existsSync(linked)) return realpathSync(linked);
  throw noCommand(name, [...commands.keys()], chosen);
}

function readManifest(dir: string): Manifest | undefined {
  try {
    const parsed: unknown = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'));
    return isObject(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}
