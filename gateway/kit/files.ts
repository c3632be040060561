import { randomUUID } from 'node:crypto';
import { closeSync, fchmodSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

const MODE = 0o600;

/** Returns the path of the draft of a file. A crash leaves at most this file, which the next write replaces. */
const draftOf = (path: string): string => `${path}.draft`;

/** Returns a path beside `path` that no other writer uses. A crash leaves the file. */
export const ownDraftOf = (path: string): string => join(dirname(path), `.${randomUUID()}.draft`);

/**
 * Replaces the content of a private file. A crash leaves the old or the new content, and after the return the new content.
 * `draft` is the file that gets the new content first: it must be another path where two writers may replace the file at once.
 */
export async function replaceFile(
  path: string,
  content: string | Uint8Array,
  draft: string = draftOf(path),
): Promise<void> {
  try {
    const file = await open(draft, 'w', MODE);
    try {
      await file.chmod(MODE);
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true }).catch(() => undefined); // on a full disk even a draft is in the way
    throw error;
  }
  await syncFolder(dirname(path));
}

/** As `replaceFile`, at once, for callers that cannot wait. */
export function replaceFileSync(path: string, content: string | Uint8Array, draft: string = draftOf(path)): void {
  rmSync(draft, { force: true });
  writeDraftSync(draft, content, { mode: MODE, isExact: true });
  try {
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
  syncFolderSync(dirname(path));
}

/** Writes and syncs a new file. The umask reduces the mode unless that is exact. A failure leaves no file. */
export function writeDraftSync(
  draft: string,
  content: string | Uint8Array,
  { mode, isExact }: { readonly mode: number; readonly isExact: boolean },
): void {
  const descriptor = openSync(draft, 'wx', mode);
  try {
    if (isExact) fchmodSync(descriptor, mode);
    writeFileSync(descriptor, content);
    fsyncSync(descriptor);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
}

/** Makes renames in a folder durable. Windows cannot open a folder and does not need it. */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function syncFolderSync(path: string): void {
  if (process.platform === 'win32') return;
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
