import { satisfies } from 'semver';
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { BackendProcess } from '../../../contract/gateway-config.ts';
import { inheritedEnvironment, installerEnvironment, withListenVariables } from '../environment.ts';
import { reportProgress } from './install-progress.ts';
import { findOnPath } from './path.ts';
import { LaunchError } from '../runner.ts';
import type { PrepareRequest, Scheme, Tools } from './scheme.ts';
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
const SPEC = /^((?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~][a-z0-9._~-]*)(?:@([\^~]?[A-Za-z0-9][A-Za-z0-9._+-]*))?$/;
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
    const dir = findInProject(tools.projectRoot, spec) ?? (await install(spec, request.name, tools));
    return nodeCommand(binPath(dir, spec.name), process, request, tools);
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

function nodeCommand(bin: string, spec: BackendProcess, request: PrepareRequest, tools: Tools) {
  const listen = request.port === undefined ? undefined : { host: '127.0.0.1', port: request.port };
  return {
    file: process.execPath,
    args: [bin, ...(spec.args ?? [])],
    env: {
      ...inheritedEnvironment(tools.hostEnv),
      ...withListenVariables(spec.env_vars ?? {}, listen, request.transport),
    },
    envFiles: spec.env_var_files ?? {},
  };
}

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

async function install(spec: PackageSpec, workload: string, tools: Tools): Promise<string> {
  const requested = `${spec.name}@${spec.version ?? 'latest'}`;
  const dir = join(tools.stateDir, 'packages', 'npm', requested.replace('/', '+'));
  await tools.installOnce(dir, () => npmInstall(requested, dir, workload, tools));
  return join(dir, 'node_modules', spec.name);
}

async function npmInstall(requested: string, dir: string, workload: string, tools: Tools): Promise<void> {
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
  tools.log.info('installing package', { ...facts, dir });
  const args = [
    'install',
    '--no-audit',
    '--no-fund',
    '--no-update-notifier',
    '--loglevel=error',
    ...RETRY,
    '--',
    requested,
  ];
  const command = { file: npm, args, env: installerEnvironment(tools.hostEnv), cwd: dir };
  const { code, stderr } = await reportProgress({ facts, dir, log: tools.log }, () =>
    tools.run(command, workload, INSTALL_TIMEOUT_MS),
  );
  if (code === 0) return;
  if (/code E404|code ETARGET|code EINVALIDPACKAGENAME/.test(stderr)) {
    throw new LaunchError('PackageNotFound', `npm has no package ${requested}: check its name and version`);
  }
  tools.log.warn('package not installed', { workload, package: requested, output: stderr });
  throw new LaunchError(
    'InstallFailed',
    `npm install ${requested} failed (${firstError(stderr)}): see the log, then try again`,
  );
}

/** Returns npm's first error line without its prefix. */
function firstError(stderr: string): string {
  const lines = stderr.split('\n').map((line) => line.replace(/^npm (error|ERR!)\s*/, '').trim());
  return lines.find((line) => line !== '' && !line.startsWith('code ')) ?? 'no message';
}

/** Returns the command by the rule of npx: the only one, or the one with the package's name. */
function binPath(dir: string, name: string): string {
  const bin = readManifest(dir)?.bin;
  if (typeof bin === 'string') return join(dir, bin);
  const commands = new Map(Object.entries(isObject(bin) ? bin : {}));
  const targets = new Set(commands.values());
  const own = commands.get(name.replace(/^@[^/]*\//, ''));
  const chosen = targets.size === 1 ? [...targets][0] : own;
  if (typeof chosen === 'string') return join(dir, chosen);
  const has =
    commands.size === 0 ? 'has no command to run' : `has several commands (${[...commands.keys()].join(', ')})`;
  throw new LaunchError('PackageHasNoBin', `package ${name} ${has}: use a package whose own command is an MCP server`);
}

function readManifest(dir: string): Manifest | undefined {
  try {
    const parsed: unknown = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'));
    return isObject(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}
