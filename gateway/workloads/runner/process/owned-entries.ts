import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { identityOf, isAlive, type ProcessIdentity } from './process-lock.ts';

/** Returns an unused path in a folder of mode 0700. Its name has the identity of this process. */
export function ownedPath(folder: string): string {
  const { pid, startTime } = identityOf(process.pid);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return join(folder, `${String(pid)}_${encodeURIComponent(startTime)}_${randomUUID()}`);
}

/** Removes the files and folders of processes that are gone, and those without an owner. */
export function removeOrphanedEntries(folder: string): void {
  for (const name of listFolder(folder)) {
    const owner = ownerOf(name);
    if (owner === undefined || !isAlive(owner)) rmSync(join(folder, name), { recursive: true, force: true });
  }
}

function ownerOf(name: string): ProcessIdentity | undefined {
  const [pid = '', startTime = ''] = name.split('_');
  if (!/^\d+$/.test(pid)) return undefined;
  try {
    return { pid: Number(pid), startTime: decodeURIComponent(startTime) };
  } catch {
    return undefined;
  }
}

function listFolder(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
