import { mkdirSync, readFileSync, rmdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { changeFiles, systemErrorCode, targetOf, translated, UserFileError } from './write-files.ts';
import { decodeUtf8 } from '../../contract/text/utf8.ts';

/** A file that other programs write too, such as the configuration of an MCP client. */
export interface UserFile {
  /** Real path of the file, with symbolic links resolved. */
  readonly path: string;
  /** Empty when there is no file. */
  readonly text: string;
}

const NEW_FILE_MODE = 0o600;
const NEW_FOLDER_MODE = 0o700;
/** Programs that lock their files renew the lock more often: an older lock belongs to a program that crashed. */
const STALE_LOCK_MS = 10_000;

/** Reads a file and follows symbolic links. A file that does not exist is empty. @throws UserFileError */
export function readUserFile(path: string): UserFile {
  return translated(path, 'read', () => {
    const target = targetOf(path);
    const stats = statSync(target, { throwIfNoEntry: false });
    if (!stats) return { path: target, text: '' };
    // a pipe would block the process
    if (!stats.isFile()) throw new UserFileError(`${target} is no regular file: remove it, then try again`);
    return { path: target, text: decode(target, readFileSync(target)) };
  });
}

/**
 * Replaces the text of a file, unless it changed since it was read. Readers see the old or the new text, never a part.
 * An empty text removes the file. `now` is in ms since the epoch, `newMode` the mode of a new file.
 * @throws UserFileError
 */
export function writeUserFile(file: UserFile, text: string, now: number, newMode = NEW_FILE_MODE): void {
  const { path } = file;
  if (text === file.text) return;
  translated(path, 'written', () => {
    mkdirSync(dirname(path), { recursive: true, mode: NEW_FOLDER_MODE });
    const lock = `${path}.lock`;
    takeLock(path, lock, now);
    try {
      if (readUserFile(path).text !== file.text) throw new UserFileError(`${path} has just changed: try again`);
      changeFiles([{ path, text: text === '' ? undefined : text, mode: newMode }]);
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
      if (systemErrorCode(error) !== 'EEXIST') throw error;
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

function decode(path: string, bytes: Uint8Array): string {
  const text = decodeUtf8(bytes);
  if (text === undefined) throw new UserFileError(`${path} is not UTF-8 text: convert it, then try again`);
  return text;
}
