import { randomUUID } from 'node:crypto';
import { copyFile, lstat, mkdir, open, readdir, realpath, rename, rm, rmdir } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import { pathExists, listFolder } from './read-folder.ts';
import { syncFolder } from '../../../kit/files.ts';

/** Completed change of a folder that can still be undone. */
export interface FolderChange {
  /** Deletes the previous folder. */
  keep(): Promise<void>;
  /** Restores the previous folder. */
  undo(): Promise<void>;
}

/** A path leads out of its root, or one of its parts is not a folder. */
class OutsideRootError extends Error {
  constructor(path: string, root: string) {
    super(`${path} leads out of ${root}, or is no folder: remove it, then try again`);
    this.name = 'OutsideRootError';
  }
}

/**
 * Replaces the folder `target`, which is below `root`, by a copy of `source`. Readers see the previous folder or the new one.
 * @throws OutsideRootError
 */
export async function placeFolder(root: string, target: string, source: string): Promise<FolderChange> {
  const parent = dirname(target);
  const made = await makeFolder(root, parent);
  const draft = siblingOf(target, 'draft');
  let previous: string | undefined;
  const undo = async (): Promise<void> => {
    await rm(draft, { recursive: true, force: true });
    if (previous !== undefined) {
      await rm(target, { recursive: true, force: true });
      await putBack(target, previous);
    }
    for (const folder of made.toReversed()) await removeEmpty(folder);
  };
  try {
    await removeLeftovers(target);
    await copyFolder(source, draft);
    const aside = await setAside(target);
    previous = aside;
    await rename(draft, target);
    await syncFolder(parent);
    return { keep: () => rm(aside, { recursive: true, force: true }), undo };
  } catch (error) {
    await undo();
    throw error;
  }
}

/**
 * Removes the folder `target`, and its parents below `kept` that become empty. A missing folder is not an error.
 * @throws OutsideRootError for a symbolic link too
 */
export async function removeFolder(root: string, target: string, kept = root): Promise<FolderChange> {
  await checkRemovable(root, target);
  const previous = await setAside(target);
  return {
    keep: async () => {
      await rm(previous, { recursive: true, force: true });
      await pruneParents(kept, dirname(target));
    },
    undo: () => putBack(target, previous),
  };
}

/** Rejects a folder that must not be removed. Accepts a missing folder. @throws OutsideRootError */
export async function checkRemovable(root: string, target: string): Promise<void> {
  const stats = await lstat(target).catch(() => undefined);
  if (stats === undefined) return;
  const isBelow = await isInside(root, dirname(target));
  if (!stats.isDirectory() || !isBelow || target === root) throw new OutsideRootError(target, root);
}

/** Renames a folder, if it exists, to a name that no program looks for, and returns that name. */
async function setAside(target: string): Promise<string> {
  const aside = siblingOf(target, 'old');
  if (await pathExists(target)) await rename(target, aside);
  return aside;
}

async function putBack(target: string, previous: string): Promise<void> {
  if (await pathExists(previous)) await rename(previous, target);
}

/** Deletes drafts and previous folders that a crash has left beside a folder. */
async function removeLeftovers(target: string): Promise<void> {
  const [parent, start] = [dirname(target), `.${basename(target)}.`];
  const isLeftover = (name: string): boolean => name.startsWith(start) && LEFTOVER.test(name);
  for (const name of (await readdir(parent)).filter(isLeftover)) await rm(join(parent, name), { recursive: true });
}

const LEFTOVER = /\.[0-9a-f]{8}-[0-9a-f-]{27}\.(?:draft|old)$/u;
const siblingOf = (target: string, kind: 'draft' | 'old'): string =>
  join(dirname(target), `.${basename(target)}.${randomUUID()}.${kind}`);

/** Creates a folder below `root`, step by step, and follows no link that leads out of it. Returns the folders that were missing. */
async function makeFolder(root: string, folder: string): Promise<readonly string[]> {
  const made: string[] = [];
  let path = root;
  for (const part of relative(root, folder).split(sep)) {
    path = join(path, part);
    if (!(await pathExists(path))) {
      await mkdir(path, { mode: 0o755 });
      made.push(path);
    }
    if (!(await isInside(root, path))) throw new OutsideRootError(path, root);
  }
  return made;
}

/** Returns true for a folder that is `root` or below it once all links are resolved. */
async function isInside(root: string, folder: string): Promise<boolean> {
  const [real, realRoot] = await Promise.all([realpath(folder).catch(() => ''), realpath(root)]);
  if (real !== realRoot && !real.startsWith(realRoot === sep ? sep : realRoot + sep)) return false;
  return (await lstat(real)).isDirectory();
}

async function pruneParents(kept: string, folder: string): Promise<void> {
  for (let path = folder; path !== kept && path.startsWith(kept); path = dirname(path)) {
    if (!(await removeEmpty(path))) return;
  }
}

/** Returns false for a folder that is not empty or does not exist. */
const removeEmpty = (folder: string): Promise<boolean> =>
  rmdir(folder).then(
    () => true,
    () => false,
  );

async function copyFolder(source: string, target: string): Promise<void> {
  await mkdir(target, { mode: 0o755 });
  for (const path of (await listFolder(source)).files) {
    const file = join(target, path);
    await mkdir(dirname(file), { recursive: true, mode: 0o755 });
    await copyFile(join(source, path), file);
    const handle = await open(file, 'r+');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  }
}
