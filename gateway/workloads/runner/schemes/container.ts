import { engineEnvironment, type Environment } from '../environment.ts';
import { containerCommand, ownLabels } from './container-command.ts';
import { withOverlays } from './overlays/overlays.ts';
import { findOnPath } from './path.ts';
import { LaunchError } from '../runner.ts';
import type { Scheme, Tools, RunResult } from './scheme.ts';
import { rmSync, existsSync, realpathSync } from 'node:fs';
import { programFiles, relayArguments, RELAY_ENVIRONMENT } from '../../container/relay/command.ts';
import { openRelaySockets } from '../../container/relay/sockets.ts';
import { engineStopped, isEngineOutage } from '../engine-outage.ts';
import { networkFolder } from '../process/owned-entries.ts';
import { reportProgress } from './install-progress.ts';
import { basename, dirname, join, resolve } from 'node:path';
import type { BackendProcess } from '../../../contract/gateway-config.ts';

interface Machine {
  readonly stateDir: string;
  readonly hostEnv: Environment;
}

/** Folders by which a container changes this machine or reads its secrets, however little of them is mounted. */
const SYSTEM = ['/proc', '/sys', '/dev', '/etc', '/boot'];

/**
 * Checks the host paths of a container, and returns the process with their symbolic links resolved: the engine mounts what was
 * checked, also where it would resolve a link such as /proc/self otherwise. They must exist: docker would create them as
 * folders of root. They must not give the server this machine or the state of vmcp. @throws LaunchError
 */
export function checkMounts(process: BackendProcess, machine: Machine): BackendProcess {
  const { volumes, privileged = false } = process.container ?? {};
  if (volumes === undefined) return process;
  const checked = volumes.map((volume) => {
    const [path = '', ...rest] = volume.split(':');
    return [checkPath(path, volume, privileged, machine), ...rest].join(':');
  });
  return { ...process, container: { ...process.container, volumes: checked } };
}

/** Returns the path without symbolic links. */
function checkPath(path: string, volume: string, isPrivileged: boolean, machine: Machine): string {
  const refuse = (fault: string): never => {
    throw new LaunchError('MountRefused', `"${path}" of the volume "${volume}" ${fault}`);
  };
  const named = isPrivileged ? undefined : systemFault(resolve(path));
  if (named !== undefined) refuse(named);
  const real = realPath(path);
  if (real === undefined)
    throw new LaunchError('MountNotFound', `"${path}" of the volume "${volume}" does not exist: create it`);
  if (real.includes(':')) refuse(`leads to "${real}", whose ":" no volume can contain: rename it`);
  const fault = faultOf(real, isPrivileged, machine);
  return fault === undefined ? real : refuse(fault);
}

/** Returns undefined for a path that does not exist, and for a link to something that is no file, such as a pipe. */
function realPath(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
}

function faultOf(path: string, isPrivileged: boolean, { stateDir, hostEnv }: Machine): string | undefined {
  if (path === '/') return 'is the whole file system of this machine: mount the folder that the server needs';
  const state = resolved(stateDir);
  if (isIn(path, state) || isIn(state, path)) return 'gives access to the state folder of vmcp: mount another folder';
  if (isPrivileged) return undefined;
  const reached = socketsOf(hostEnv).some((socket) => path === socket || (existsSync(socket) && isIn(socket, path)));
  if (!reached) return systemFault(path);
  return 'gives access to the container engine, and so to this machine: mount another folder, or set privileged in permission_profile';
}

function systemFault(path: string): string | undefined {
  const folder = SYSTEM.find((one) =>
    [one, resolved(one)].some((system) => isIn(path, system) || (path !== '/' && isIn(system, path))),
  );
  if (folder === undefined) return undefined;
  return `gives access to ${folder}, and so to this machine: mount another folder, or set privileged in permission_profile`;
}

const isIn = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);

/** Lists the sockets on which an engine may listen. */
function socketsOf({ XDG_RUNTIME_DIR: runtime, DOCKER_HOST: docker, CONTAINER_HOST: podman }: Environment): string[] {
  const configured = [docker, podman].flatMap((url) =>
    url?.startsWith('unix://') ? [url.slice('unix://'.length)] : [],
  );
  const ofUser = runtime === undefined ? [] : [`${runtime}/docker.sock`, `${runtime}/podman/podman.sock`];
  const known = [
    '/var/run/docker.sock',
    '/run/docker.sock',
    '/run/podman/podman.sock',
    '/run/containerd/containerd.sock',
    '/run/crio/crio.sock',
  ];
  return [...configured, ...ofUser, ...known].map(resolved);
}

/** Resolves the symbolic links of a path whose last part may not exist. */
function resolved(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  const folder = dirname(path);
  return existsSync(folder) ? join(realpathSync(folder), basename(path)) : path;
}

const ANSWER_TIMEOUT_MS = 15_000;
const PULL_TIMEOUT_MS = 600_000;

/** Answers of registries about an image that does not exist, or that is hidden from users without a login. */
const NOT_FOUND = [
  /manifest unknown|name unknown|MANIFEST_UNKNOWN|NAME_UNKNOWN/u,
  /manifest for \S+ not found|repository \S+ not found|repository does not exist/u,
  /no such manifest|: not found$/mu,
  /requested access to the resource is denied/u,
];

/** Returns true for the line of podman about a manifest that the registry does not have. */
const isMissingManifest = (line: string): boolean =>
  line.includes('reading manifest ') && /StatusCode: 404|404 \(Not Found\)/u.test(line);

/** Pulls an image that is not present. @throws LaunchError `ImageNotFound` or `ImagePullFailed` */
async function pullImage(file: string, image: string, workload: string, tools: Tools): Promise<void> {
  const env = engineEnvironment(tools.hostEnv);
  const present = await tools.run({ file, args: ['image', 'inspect', '--', image], env }, workload, ANSWER_TIMEOUT_MS);
  if (present.code === 0) return;
  const { log, display } = tools;
  if (!display) log.info('pulling image', { workload, image });
  const pulled = await reportProgress({ facts: { workload, image }, log, display }, () =>
    tools.run({ file, args: ['pull', '--quiet', '--', image], env }, workload, PULL_TIMEOUT_MS),
  );
  if (pulled.code === 0) return;
  tools.log.warn('image not pulled', { workload, image, output: pulled.stderr });
  throw pullError(image, pulled);
}

/** Returns the error of a failed pull. Pure. */
export function pullError(image: string, { code, stderr }: Pick<RunResult, 'code' | 'stderr'>): LaunchError {
  if (code === null) {
    const minutes = PULL_TIMEOUT_MS / 60_000;
    return new LaunchError('ImagePullFailed', `${image} was not pulled within ${minutes} minutes: pull it by hand`);
  }
  if (NOT_FOUND.some((pattern) => pattern.test(stderr)) || stderr.split('\n').some(isMissingManifest)) {
    const message = `${image} does not exist, or needs a login at its registry: check its name and tag`;
    return new LaunchError('ImageNotFound', message);
  }
  if (isEngineOutage(stderr)) return engineStopped();
  const reason = stderr.trim().split('\n').at(-1) ?? '';
  return new LaunchError(
    'ImagePullFailed',
    `${image} cannot be pulled (${reason}): check its name and your access to it`,
  );
}

const PROBE_TIMEOUT_MS = 60_000;
const ADVICE = 'set network_isolation to false to run it with open network access';

/** Engines and images whose relay has run, per launcher. */
const proven = new WeakMap<Tools, Set<string>>();

/**
 * Proves that an isolated network works: runs its relay once, which must reach this process.
 * @throws LaunchError `IsolationUnavailable`, or `NoContainerEngine` when the engine has stopped
 */
async function proveIsolation(file: string, image: string, workload: string, tools: Tools): Promise<void> {
  const key = `${file} ${image}`;
  const known = proven.get(tools) ?? new Set();
  if (known.has(key)) return;
  const fault =
    process.platform === 'linux' ? await probe(file, image, workload, tools) : 'vmcp can do it on Linux only';
  if (fault !== undefined) {
    const message = `the network of ${image} cannot be isolated on this machine (${fault}): ${ADVICE}`;
    throw new LaunchError('IsolationUnavailable', message);
  }
  proven.set(tools, known.add(key));
}

async function probe(file: string, image: string, workload: string, tools: Tools): Promise<string | undefined> {
  const dir = networkFolder(tools.stateDir);
  const sockets = await openRelaySockets(dir);
  let isConnected = false;
  void sockets.ready.then(() => (isConnected = true));
  const isReached = (): boolean => isConnected;
  try {
    const labels = ownLabels(workload, tools.stateDir);
    const args = relayArguments({ image, labels, socketDir: dir, files: programFiles(), mode: 'probe' });
    const cleared = Object.entries(RELAY_ENVIRONMENT).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
    const env = engineEnvironment(tools.hostEnv);
    const end = await tools.run({ file, args: ['run', ...cleared, ...args], env }, workload, PROBE_TIMEOUT_MS);
    if (end.code === 0 && isReached()) return undefined;
    if (isEngineOutage(end.stderr)) throw engineStopped();
    const reason = end.stderr.trim().split('\n').at(-1) ?? '';
    return reason === '' ? 'its relay does not reach vmcp' : reason;
  } finally {
    sockets.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Container engines. The version is read from the engine, since a client without an engine has none. */
export const ENGINES = [
  { name: 'docker', version: '{{.ServerVersion}}' },
  { name: 'podman', version: '{{.Version.Version}}' },
] as const;

const LABEL = String.raw`[A-Za-z0-9][A-Za-z0-9-]*`;
const HOST = String.raw`(?:${LABEL}(?:\.${LABEL})*|\[[0-9a-fA-F:]+\])(?::\d+)?`;
const COMPONENT = String.raw`[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*`;
const REFERENCE = new RegExp(
  String.raw`^(?:${HOST}/)?${COMPONENT}(?:/${COMPONENT})*(?::[A-Za-z0-9_][\w.-]{0,127})?(?:@sha256:[0-9a-f]{64})?$`,
);

/** OCI images, run by docker or podman. Labels `dev.vmcp.workload` and `dev.vmcp.state` identify the owner. */
export const container: Scheme = {
  prefix: '',
  check: checkReference,
  async prepare(given, request, tools) {
    checkReference(given.image);
    const process = await withOverlays(checkMounts(given, tools), request.name, tools);
    const engine = await findEngine(request.name, tools);
    await pullImage(engine, process.image, request.name, tools);
    const command = containerCommand(engine, process, request, tools);
    if (command.container?.network) await proveIsolation(engine, process.image, request.name, tools);
    return command;
  },
};

function checkReference(image: string): void {
  if (REFERENCE.test(image)) return;
  const message = `"${image}" is not an image: write an OCI reference, npx://PACKAGE[@VERSION], uvx://PACKAGE[==VERSION] or command://PROGRAM`;
  throw new LaunchError('InvalidImageReference', message);
}

async function findEngine(workload: string, tools: Tools): Promise<string> {
  const env = engineEnvironment(tools.hostEnv);
  for (const { name, version } of ENGINES) {
    const file = findOnPath(name, tools.hostEnv);
    if (file === undefined) continue;
    const answer = await tools.run({ file, args: ['info', '--format', version], env }, workload, ANSWER_TIMEOUT_MS);
    if (answer.code === 0 && /^\d/.test(answer.stdout.trim())) return file;
  }
  const message = 'neither docker nor podman responds: start one of them, or use an npx:// or uvx:// reference';
  throw new LaunchError('NoContainerEngine', message);
}
