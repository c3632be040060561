import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { BackendProcess } from '../../../contract/gateway-config.ts';
import type { Environment } from '../environment.ts';
import { LaunchError } from '../runner.ts';

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
