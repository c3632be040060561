import { chmodSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { tryLock } from '../../../gateway/workloads/runner/process-lock.ts';

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

/** @throws StateInUse, or the file system's error when the folder cannot be made */
export function openState(dir: string): State {
  makePrivateDir(dir);
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
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  chmodSync(dir, 0o700);
}
