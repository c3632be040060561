import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { readUserFile, writeUserFile, type UserFile } from '../../state/user-file.ts';
import { requiredBy } from '../orphans.ts';
import type { SkillRecord } from '../installed-skill.ts';
import {
  LOCK_FILE,
  LockFileError,
  parseLockFile,
  renderLockFile,
  updateLockFile,
  type LockEntry,
  type LockFile,
} from './lock-file.ts';

const NEW_FILE_MODE = 0o644;

/** Lock file of a project that was read, and can be written once. */
export interface ProjectLock {
  /**
   * Writes the entries of `skills`, which are all skills of the project, and removes the entries whose names are `removed`.
   * `now` is in ms since the epoch.
   */
  write(skills: readonly SkillRecord[], removed: ReadonlySet<string>, now: number): void;
  /** Restores the text that was read. */
  restore(now: number): void;
}

/** Reads the lock file of a project. @throws LockFileError, UserFileError */
export function openProjectLock(projectRoot: string): ProjectLock {
  const path = join(projectRoot, LOCK_FILE);
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true) {
    throw new LockFileError('is a symbolic link, which may lead out of the project: replace it by a file');
  }
  const before = readUserFile(path);
  const lock = parseLockFile(before.text);
  let file: UserFile = before;
  const replace = (text: string, now: number): void => {
    writeUserFile(file, text, now, NEW_FILE_MODE);
    file = { ...file, text };
  };
  return {
    write: (skills, removed, now) =>
      replace(
        textOf(
          updateLockFile(
            lock,
            skills.map((skill) => entryOf(skill, skills)),
            removed,
          ),
        ),
        now,
      ),
    restore: (now) => {
      if (file.text !== before.text) replace(before.text, now);
    },
  };
}

/** A lock file without content is removed. */
const textOf = (lock: LockFile): string =>
  lock.entries.length === 0 && Object.keys(lock.others).length === 0 ? '' : renderLockFile(lock);

function entryOf(skill: SkillRecord, skills: readonly SkillRecord[]): LockEntry {
  const { metadata, source, reference, digest, content_digest: contentDigest, explicit } = skill;
  const parents = requiredBy(metadata.name, skills);
  return {
    name: metadata.name,
    ...(metadata.version !== '' && { version: metadata.version }),
    ...{ source, resolvedReference: reference, digest, contentDigest, unsigned: true },
    ...(parents.length > 0 && { requiredBy: parents }),
    ...(explicit && { explicit }),
  };
}
