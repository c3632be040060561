import { lstatSync, mkdirSync, readFileSync, readlinkSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { ownDraftOf, writeDraftSync } from '../../kit/files.ts';

/** Change of one file of the user. */
export interface FileChange {
  readonly path: string;
  /** New content; undefined deletes the file. */
  readonly text: string | undefined;
  /** Mode of a new file; an existing file keeps its own. */
  readonly mode?: number;
}

/** A file of the user cannot be read or written. The message is a sentence that names the file and says what to do. */
export class UserFileError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'UserFileError';
  }
}

/** A change that is ready: only a rename or a deletion is left. */
interface Prepared {
  /** Real path of the file, with symbolic links resolved; the link itself for a deletion. */
  readonly path: string;
  /** Complete new content beside the file; undefined for a file to delete. */
  readonly draft: string | undefined;
  /** Present content and mode; undefined for a new file. */
  readonly before: Before | undefined;
}

interface Before {
  readonly bytes: Uint8Array;
  readonly mode: number;
}

/**
 * Changes files as one step: writes every new content into a draft beside its file, then renames the drafts. A symbolic
 * link stays, and its target changes. After an error all files are as before. An interruption leaves each file old or new.
 * @throws UserFileError
 */
export function changeFiles(changes: readonly FileChange[]): void {
  const prepared: Prepared[] = [];
  try {
    for (const change of changes) prepared.push(translated(change.path, 'written', () => prepare(change)));
    prepared.forEach((change, index) => {
      try {
        translated(change.path, 'written', () => {
          finish(change);
        });
      } catch (error) {
        prepared.slice(0, index).forEach(restore);
        throw error;
      }
    });
  } finally {
    for (const { draft } of prepared) if (draft !== undefined) rmSync(draft, { force: true });
  }
}

function prepare({ path, text, mode = 0o666 }: FileChange): Prepared {
  const target = text === undefined ? path : targetOf(path);
  const before = contentOf(target);
  if (before && (before.mode & 0o200) === 0)
    throw new UserFileError(`${target} is read-only: allow writing (chmod u+w), then try again`);
  if (text === undefined) return { path, draft: undefined, before };
  mkdirSync(dirname(target), { recursive: true });
  return { path: target, draft: writeDraft(target, text, before?.mode, mode), before };
}

function contentOf(path: string): Before | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats && { bytes: readFileSync(path), mode: stats.mode & 0o7777 };
}

/** Writes and syncs a file beside `path`. The umask reduces the mode of a new file only. */
function writeDraft(path: string, content: string | Uint8Array, mode: number | undefined, newMode: number): string {
  const draft = ownDraftOf(path);
  writeDraftSync(draft, content, { mode: mode ?? newMode, isExact: mode !== undefined });
  return draft;
}

function finish({ path, draft }: Prepared): void {
  if (draft === undefined) rmSync(path);
  else renameSync(draft, path);
}

/** Undoes a finished change. */
function restore({ path, before }: Prepared): void {
  if (!before) rmSync(path, { force: true });
  else renameSync(writeDraft(path, before.bytes, before.mode, before.mode), path);
}

/** Resolves the symbolic links of a path. The last one may point to a file that does not exist yet. */
export function targetOf(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (systemErrorCode(error) !== 'ENOENT') throw error;
    const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
    return isLink ? targetOf(resolve(dirname(path), readlinkSync(path))) : path;
  }
}

export const systemErrorCode = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

/** Runs file operations and turns a system error into a sentence. @throws UserFileError */
export function translated<Result>(path: string, action: 'read' | 'written', run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    if (error instanceof UserFileError) throw error;
    const code = systemErrorCode(error);
    if (code === undefined) throw error;
    throw new UserFileError(`${path} cannot be ${action} (${code}): ${adviceFor(code, action)}, then try again`, error);
  }
}

function adviceFor(code: string, action: 'read' | 'written'): string {
  if (action === 'read') return 'make it readable';
  return code === 'ENOSPC' || code === 'EDQUOT' ? 'free some space on its disk' : 'make it and its folder writable';
}

/** Returns true for a file, a folder or a symbolic link, even one without a target. */
export function isThere(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

/** Returns true for a file that its group or every user can read. */
export const othersCanRead = (path: string): boolean => (statSync(path).mode & 0o044) !== 0;
