import { chmodSync, mkdirSync, statSync, readFileSync, rmSync, existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import {
  tryLock,
  isAlive,
  isIdentity,
  type ProcessIdentity,
} from '../../gateway/workloads/runner/process/process-lock.ts';
import { writePrivateFile } from './secrets.ts';
import type { UserFolders } from '../../gateway/management/clients/config-file.ts';

/** The folder of `--state`, locked by this process. Processes never share a folder. */
export interface State {
  readonly dir: string;
  /** For `choosePublicPorts`. */
  readonly portsFile: string;
  /** For `openPortBook` of the workload runner. */
  readonly workloadPortsFile: string;
  /** Returns the folder for keys, logins and clients of the authorization server of a virtual server, `namespace/name`. */
  authServerDir(server: string): string;
  /** Releases the lock. Idempotent. */
  close(): void;
}

/** Another process uses the state. The message names it. */
export class StateInUse extends Error {
  readonly reason = 'StateInUse';
  readonly pid: number;

  constructor(dir: string, pid: number) {
    const url = readRunning(dir)?.servers[0]?.mcpUrl;
    const holder = `process ${pid}${url === undefined ? '' : `, which serves ${url}`}`;
    super(`the state folder ${dir} is in use by ${holder}: stop it, or choose another folder with --state`);
    this.name = 'StateInUse';
    this.pid = pid;
  }
}

/** Returns `$XDG_STATE_HOME/vmcp`, else `~/.local/state/vmcp`. The XDG specification ignores relative values. */
export function defaultStateDir(env: Readonly<Record<string, string | undefined>>): string {
  const base = env['XDG_STATE_HOME'];
  return base?.startsWith('/') ? join(base, 'vmcp') : join(env['HOME'] ?? homedir(), '.local', 'state', 'vmcp');
}

/** The folder cannot be created or written. */
export class StateNotUsable extends Error {
  readonly reason = 'StateNotUsable';

  constructor(dir: string, cause: NodeJS.ErrnoException) {
    super(`the state folder ${dir} cannot be used (${cause.code ?? cause.message}): choose another one with --state`, {
      cause,
    });
    this.name = 'StateNotUsable';
  }
}

/** Creates and locks the state folder. @throws StateInUse, StateNotUsable */
export function openState(dir: string): State {
  try {
    makePrivateDir(dir);
    return lockState(dir);
  } catch (error) {
    if (error instanceof StateInUse) throw error;
    throw new StateNotUsable(dir, error as NodeJS.ErrnoException);
  }
}

function lockState(dir: string): State {
  const lock = tryLock(join(dir, 'lock'));
  if (!lock.held) throw new StateInUse(dir, lock.holder.pid);
  return {
    dir,
    portsFile: join(dir, 'ports.json'),
    workloadPortsFile: join(dir, 'workload-ports.json'),
    authServerDir: (server) => join(dir, 'auth-servers', encodeURIComponent(server)),
    close: lock.release,
  };
}

/** Creates `dir` with mode 0700, or restricts an existing folder to it. */
export function makePrivateDir(dir: string): void {
  makeFolder(dir);
  chmodSync(dir, 0o700);
}

/** Creates a folder and its parents. `recursive` of `mkdirSync` never returns below /proc. */
function makeFolder(dir: string): void {
  try {
    if (statSync(dir).isDirectory()) return;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(dir) === dir) throw error;
    makeFolder(dirname(dir));
  }
  mkdirSync(dir, { mode: 0o700 });
}

/** Record of a running `vmcp up`, for the commands that talk to it. */
export interface Running extends ProcessIdentity {
  /** URL of the management listener, without a path. */
  readonly managementUrl: string;
  readonly servers: readonly RunningServer[];
  /** Absolute paths whose changes are applied; absent without `--watch`. */
  readonly watched?: readonly string[];
}

/** A virtual server of the record. */
export interface RunningServer {
  readonly name: string;
  readonly namespace: string;
  readonly mcpUrl: string;
  /** Issuer whose tokens are accepted; absent for anonymous servers. */
  readonly issuer?: string | undefined;
}

const fileOf = (stateDir: string): string => join(stateDir, 'running.json');

/** Writes the record. The caller holds the lock of the state folder. */
export const writeRunning = (stateDir: string, running: Running): Promise<void> =>
  writePrivateFile(fileOf(stateDir), `${JSON.stringify(running, undefined, 2)}\n`);

/** Removes the record. */
export const removeRunning = (stateDir: string): void => {
  rmSync(fileOf(stateDir), { force: true });
};

/** Reads the record. Returns undefined when there is no record, or when its process is gone, for example after `kill -9`. */
export function readRunning(stateDir: string): Running | undefined {
  let record: unknown;
  try {
    record = JSON.parse(readFileSync(fileOf(stateDir), 'utf8'));
  } catch {
    return undefined;
  }
  return isRunning(record) && isAlive(record) ? record : undefined;
}

const isRunning = (value: unknown): value is Running =>
  isIdentity(value) &&
  hasTexts(value, ['managementUrl']) &&
  'servers' in value &&
  Array.isArray(value.servers) &&
  value.servers.every((server) => hasTexts(server, ['name', 'namespace', 'mcpUrl']));

const hasTexts = (value: unknown, names: readonly string[]): boolean =>
  typeof value === 'object' &&
  value !== null &&
  names.every((name) => typeof (value as Readonly<Record<string, unknown>>)[name] === 'string');

/** Returns the folders of the user who runs this process. */
export function userFolders(env: Readonly<Record<string, string | undefined>>, platform: string): UserFolders {
  const home = env[platform === 'win32' ? 'USERPROFILE' : 'HOME'];
  return {
    ...{ platform, home: home || homedir(), configHome: env['XDG_CONFIG_HOME'], appData: env['APPDATA'] },
    exists: existsSync,
  };
}
