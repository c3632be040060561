import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { BackendProcess } from '../../../contract/gateway-config.ts';
import type { Environment } from '../environment.ts';
import { LaunchError } from '../runner.ts';

interface Machine {
  readonly stateDir: string;
  readonly hostEnv: Environment;
}

/**
 * Checks the host paths of a container, with their symbolic links resolved. They must exist: docker would create them as
 * folders of root. They must not give the server this machine or the state of vmcp. @throws LaunchError
 */
export function checkMounts({ container = {} }: BackendProcess, machine: Machine): void {
  for (const volume of container.volumes ?? []) {
    const [path = ''] = volume.split(':');
    if (!existsSync(path))
      throw new LaunchError('MountNotFound', `"${path}" of the volume "${volume}" does not exist: create it`);
    const fault = faultOf(realpathSync(path), container.privileged === true, machine);
    if (fault === undefined) continue;
    throw new LaunchError('MountRefused', `"${path}" of the volume "${volume}" ${fault}`);
  }
}

function faultOf(path: string, isPrivileged: boolean, { stateDir, hostEnv }: Machine): string | undefined {
  if (path === '/') return 'is the whole file system of this machine: mount the folder that the server needs';
  const state = resolved(stateDir);
  if (isIn(path, state) || isIn(state, path)) return 'gives access to the state folder of vmcp: mount another folder';
  const reached = socketsOf(hostEnv).some((socket) => path === socket || (existsSync(socket) && isIn(socket, path)));
  if (!reached || isPrivileged) return undefined;
  return 'gives access to the container engine, and so to this machine: mount another folder, or set privileged in permission_profile';
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
  ];
  return [...configured, ...ofUser, ...known].map(resolved);
}

/** Resolves the symbolic links of a path whose last part may not exist. */
function resolved(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  const folder = dirname(path);
  return existsSync(folder) ? join(realpathSync(folder), basename(path)) : path;
}
