import { chmodSync, mkdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { tryLock } from '../../gateway/workloads/runner/process/process-lock.ts';

/** The folder of `--state`, locked for this process. Several processes never share one. */
export interface State {
  readonly dir: string;
  /** For `choosePublicPorts`. */
  readonly portsFile: string;
  /** For `openPortBook` of the workload runner. */
  readonly workloadPortsFile: string;
  /** Gives the lock back. Idempotent. */
  close(): void;
}

/** Exit code 2: the message names the process that has the state. */
export class StateInUse extends Error {
  readonly reason = 'StateInUse';
  readonly pid: number;

  constructor(dir: string, pid: number) {
    super(`the state folder ${dir} is in use by process ${pid}: stop it, or choose another folder with --state`);
    this.name = 'StateInUse';
    this.pid = pid;
  }
}

/** `$XDG_STATE_HOME/vmcp`, else `~/.local/state/vmcp`. The XDG base directory specification ignores relative values. */
export function defaultStateDir(env: Readonly<Record<string, string | undefined>>): string {
  const base = env['XDG_STATE_HOME'];
  return base?.startsWith('/') ? join(base, 'vmcp') : join(env['HOME'] ?? homedir(), '.local', 'state', 'vmcp');
}

/** Exit code 2: the folder cannot be made or written. */
export class StateNotUsable extends Error {
  readonly reason = 'StateNotUsable';

  constructor(dir: string, cause: NodeJS.ErrnoException) {
    super(`the state folder ${dir} cannot be used (${cause.code ?? cause.message}): choose another one with --state`, {
      cause,
    });
    this.name = 'StateNotUsable';
  }
}

/** @throws StateInUse, StateNotUsable */
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
    close: lock.release,
  };
}

/** Makes `dir` and closes it to others, also when it was there with wider rights. */
export function makePrivateDir(dir: string): void {
  makeFolder(dir);
  chmodSync(dir, 0o700);
}

/** Not `recursive` of `mkdirSync`, which never returns below /proc. */
function makeFolder(dir: string): void {
  try {
    if (statSync(dir).isDirectory()) return;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(dir) === dir) throw error;
    makeFolder(dirname(dir));
  }
  mkdirSync(dir, { mode: 0o700 });
}
