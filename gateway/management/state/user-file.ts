import {
  chmodSync,
  closeSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { randomUUID } from 'node:crypto';
import { basename, dirname, join, resolve } from 'node:path';

/** A file that belongs to the user or to another program. */
export interface UserFile {
  /** Path of the file itself, behind symbolic links. */
  readonly path: string;
  /** Empty when there is no file. */
  readonly text: string;
  /** Permission bits. */
  readonly mode: number;
}

/** The file cannot be read or written. The message is a sentence that names the file and says what to do. */
export class UserFileError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'UserFileError';
  }
}

const NEW_FILE_MODE = 0o600;
const NEW_FOLDER_MODE = 0o700;
/** Programs that lock their files renew the lock more often: an older lock belongs to a program that crashed. */
const STALE_LOCK_MS = 10_000;

/** Reads a file, also behind symbolic links. A file that does not exist is empty. @throws UserFileError */
export function readUserFile(path: string): UserFile {
  return translated(path, 'read', () => {
    const target = targetOf(path);
    const stats = statSync(target, { throwIfNoEntry: false });
    if (!stats) return { path: target, text: '', mode: NEW_FILE_MODE };
    return { path: target, text: decode(target, readFileSync(target)), mode: stats.mode & 0o777 };
  });
}

/**
 * Replaces the text of a file, unless it changed since it was read. Readers see the old or the new text, never a part.
 * An empty text removes the file. `now` is in ms since the epoch.
 * @throws UserFileError
 */
export function writeUserFile(file: UserFile, text: string, now: number): void {
  const { path, mode } = file;
  if ((mode & 0o200) === 0) {
    throw new UserFileError(`${path} is read-only: allow writing (chmod u+w), then try again`);
  }
  translated(path, 'written', () => {
    mkdirSync(dirname(path), { recursive: true, mode: NEW_FOLDER_MODE });
    const lock = `${path}.lock`;
    takeLock(path, lock, now);
    try {
      if (readUserFile(path).text !== file.text) throw new UserFileError(`${path} has just changed: try again`);
      if (text === '') rmSync(path, { force: true });
      else replace(path, text, mode);
    } finally {
      rmdirSync(lock);
    }
  });
}

/** Locks by a folder beside the file, as clients do that use the npm package proper-lockfile, such as Claude Code. */
function takeLock(path: string, lock: string, now: number): void {
  for (let isRetry = false; ; isRetry = true) {
    try {
      mkdirSync(lock, { mode: NEW_FOLDER_MODE });
      return;
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
      const isStale = now - (statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? now) > STALE_LOCK_MS;
      if (isRetry || !isStale) {
        throw new UserFileError(
          `${path} is locked by another program (${lock} exists): close it, then try again`,
          error,
        );
      }
      rmdirSync(lock);
    }
  }
}

function replace(path: string, text: string, mode: number): void {
  const draft = join(dirname(path), `.${basename(path)}.${randomUUID()}.draft`);
  try {
    const descriptor = openSync(draft, 'wx', mode);
    try {
      writeFileSync(descriptor, text);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    chmodSync(draft, mode); // the mode of `openSync` is reduced by the umask
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

/** Returns the file that a path leads to. The last symbolic link may lead to a file that does not exist yet. */
function targetOf(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
    return isLink ? targetOf(resolve(dirname(path), readlinkSync(path))) : path;
  }
}

function decode(path: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw new UserFileError(`${path} is not UTF-8 text: convert it, then try again`, error);
  }
}

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

function translated<Result>(path: string, action: 'read' | 'written', run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    if (error instanceof UserFileError) throw error;
    const code = codeOf(error);
    if (code === undefined) throw error;
    throw new UserFileError(`${path} cannot be ${action} (${code}): check its permissions, then try again`, error);
  }
}
