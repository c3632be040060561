import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { startTime } from './start-time.ts';

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
