import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';

/**
 * Returns the start time of process `pid` as opaque text, which differs between processes, also across a reboot.
 * Undefined when the process does not exist or is a zombie.
 */
export function startTime(pid: number): string | undefined {
  if (!Number.isInteger(pid) || pid < 1) return undefined;
  return process.platform === 'linux' ? linuxStartTime(pid) : psStartTime(pid);
}

/** Reads proc(5). The command name in field 2 can contain anything, so fields are counted from its last `)`. */
function linuxStartTime(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state, ticks] = [fields[0], fields[19]];
    if (state === 'Z' || state === 'X' || ticks === undefined) return undefined;
    return `${bootId()}:${ticks}`;
  } catch {
    return undefined;
  }
}

/** Reads the boot id, since ticks count from the boot. */
function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  } catch {
    return 'unknown';
  }
}

function psStartTime(pid: number): string | undefined {
  try {
    const line = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8', timeout: 5_000 });
    const [stat, ...started] = line.trim().split(/\s+/);
    return stat === undefined || stat === '' || stat.startsWith('Z') ? undefined : started.join(' ');
  } catch {
    return undefined;
  }
}

/** A process, distinguished by its start time from a later one with the same id. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly startTime: string;
}

export type LockAttempt =
  | { readonly held: true; readonly release: () => void }
  | { readonly held: false; readonly holder: ProcessIdentity };

export const identityOf = (pid: number): ProcessIdentity => ({ pid, startTime: startTime(pid) ?? 'unknown' });

export const isAlive = (identity: ProcessIdentity): boolean => startTime(identity.pid) === identity.startTime;

/**
 * Locks the file at `path` for this process or returns its holder. Never waits.
 * Takes over the lock of a process that is gone.
 */
export function tryLock(path: string): LockAttempt {
  const own = identityOf(process.pid);
  const draft = `${path}.${randomUUID()}`;
  try {
    writeFileSync(draft, JSON.stringify(own), { mode: 0o600 }); // a full disk leaves a part of the file
    for (;;) {
      if (tryLink(draft, path)) return { held: true, release: () => release(path, own) };
      const holder = readHolder(path);
      if (holder !== undefined && isAlive(holder)) return { held: false, holder };
      discardStale(path);
    }
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Creates the lock by link(2), which fails when the name exists and, unlike open with O_EXCL, shows it with its content. */
function tryLink(draft: string, path: string): boolean {
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

/** Moves a stale lock away. Moves it back when another process has renewed it in between. */
function discardStale(path: string): void {
  const moved = `${path}.${randomUUID()}`;
  try {
    renameSync(path, moved);
  } catch {
    return;
  }
  const holder = readHolder(moved);
  if (holder !== undefined && isAlive(holder)) tryLink(moved, path);
  rmSync(moved, { force: true });
}

function release(path: string, own: ProcessIdentity): void {
  const holder = readHolder(path);
  if (holder?.pid === own.pid && holder.startTime === own.startTime) rmSync(path, { force: true });
}

function readHolder(path: string): ProcessIdentity | undefined {
  try {
    const parsed: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return isIdentity(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

export function isIdentity(value: unknown): value is ProcessIdentity {
  if (typeof value !== 'object' || value === null || !('pid' in value) || !('startTime' in value)) return false;
  return typeof value.pid === 'number' && typeof value.startTime === 'string';
}
