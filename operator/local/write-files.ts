import { randomUUID } from 'node:crypto';
import { renameSync, rmSync } from 'node:fs';
import { lstat, mkdir, open, realpath, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** Change of one file of the user. */
export interface FileChange {
  readonly path: string;
  /** New content; undefined deletes the file. */
  readonly text: string | undefined;
  /** Mode of a new file; an existing file keeps its own. */
  readonly mode?: number;
}

/** A file cannot be written. Exit code 1. */
export class FileWriteError extends Error {
  constructor(path: string, cause: NodeJS.ErrnoException) {
    super(`${path} cannot be written (${cause.code ?? 'unknown error'}): make its folder writable, or choose another`, {
      cause,
    });
    this.name = 'FileWriteError';
  }
}

interface Draft {
  readonly path: string;
  /** Complete new content beside the file; undefined for a file to delete. */
  readonly draft: string | undefined;
}

/**
 * Changes files as one step: writes every new content into a draft beside its file, then renames the drafts at once. A
 * symbolic link stays, and its target changes. An interruption leaves the old files, or the new ones.
 * @throws FileWriteError
 */
export async function changeFiles(changes: readonly FileChange[]): Promise<void> {
  const drafts: Draft[] = [];
  for (const change of changes) {
    try {
      drafts.push(await prepare(change));
    } catch (error) {
      for (const { draft } of drafts) if (draft !== undefined) rmSync(draft, { force: true });
      throw new FileWriteError(change.path, error as NodeJS.ErrnoException);
    }
  }
  for (const draft of drafts) finish(draft);
}

/** Synchronous, so that nothing else runs between the renames of several files. */
function finish({ path, draft }: Draft): void {
  try {
    if (draft === undefined) rmSync(path);
    else renameSync(draft, path);
  } catch (error) {
    if (draft !== undefined) rmSync(draft, { force: true });
    throw new FileWriteError(path, error as NodeJS.ErrnoException);
  }
}

async function prepare({ path, text, mode = 0o666 }: FileChange): Promise<Draft> {
  if (text === undefined) return { path, draft: undefined };
  await mkdir(dirname(path), { recursive: true });
  const target = await realpath(path).catch(() => path);
  const known = await stat(target).catch(() => undefined);
  const draft = join(dirname(target), `.${basename(target)}.${randomUUID()}.draft`);
  const file = await open(draft, 'wx', mode);
  try {
    if (known) await file.chmod(known.mode & 0o7777);
    await file.writeFile(text);
    await file.sync();
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  return { path: target, draft };
}

/** Returns true for a file, a folder or a symbolic link, even one that leads nowhere. */
export const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

/** Returns true for a file that its group or every user can read. */
export const othersCanRead = async (path: string): Promise<boolean> => ((await stat(path)).mode & 0o044) !== 0;
