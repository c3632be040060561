import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { readUserFile, writeUserFile, type UserFile } from '../state/user-file.ts';
import { requiredBy } from './orphans.ts';
import type { SkillRecord } from './shapes.ts';

const NEW_FILE_MODE = 0o644;

/** Lock file of a project that was read, and can be written once. */
interface ProjectLock {
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
        lockText(
          updateLockFile(
            lock,
            skills.map((skill) => lockEntry(skill, skills)),
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
const lockText = (lock: LockFile): string =>
  lock.entries.length === 0 && Object.keys(lock.others).length === 0 ? '' : renderLockFile(lock);

function lockEntry(skill: SkillRecord, skills: readonly SkillRecord[]): LockEntry {
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

/** Name of the file in a project that pins its skills. */
const LOCK_FILE = 'skills.lock.yaml';
const VERSION = 1;

/** Pinned skill. Other members of the entry are kept. */
export interface LockEntry {
  readonly name: string;
  readonly version?: string;
  /** Name of the skill, as the request or `requires` of another skill has it. */
  readonly source: string;
  readonly resolvedReference: string;
  readonly digest: string;
  /** Digest of the files of the skill. */
  readonly contentDigest: string;
  readonly unsigned?: true;
  /** Skills that need this skill. */
  readonly requiredBy?: readonly string[];
  /** True for a skill that was requested itself, not only as a dependency. */
  readonly explicit?: true;
}

type Members = Readonly<Record<string, unknown>>;

/** Lock file in memory. Entries and members that this version does not know stay unchanged. */
interface LockFile {
  readonly entries: readonly Members[];
  readonly others: Members;
}

/** The lock file cannot be used. */
class LockFileError extends Error {
  constructor(reason: string) {
    super(`${LOCK_FILE} ${reason}`);
    this.name = 'LockFileError';
  }
}

/** Parses a lock file; an empty text has no entries. @throws LockFileError */
export function parseLockFile(text: string): LockFile {
  if (text.trim() === '') return { entries: [], others: {} };
  const document = requireMembers(parseYaml(text), 'must hold a map');
  const { version, skills, ...others } = document;
  if (version !== VERSION) {
    throw new LockFileError(`has the version ${JSON.stringify(version)}, which this vmcp does not know: update vmcp`);
  }
  if (skills !== undefined && skills !== null && !Array.isArray(skills))
    throw new LockFileError('must have a list in "skills"');
  const entries = ((skills ?? []) as unknown[]).map((entry) => requireMembers(entry, 'must hold maps in "skills"'));
  return { entries, others };
}

/** Renders a lock file with its entries sorted by name. */
export function renderLockFile({ entries, others }: LockFile): string {
  const skills = entries.toSorted((one, two) => (entryName(one) < entryName(two) ? -1 : 1));
  return stringify({ version: VERSION, skills, ...others }, { lineWidth: 0 });
}

/** Members of an entry that this version writes, and so removes when they no longer apply. */
const OWN = ['version', 'unsigned', 'requiredBy', 'explicit'];

/** Adds the `changed` entries or replaces those of the same name, and removes the entries whose names are `removed`. */
export function updateLockFile(file: LockFile, changed: readonly LockEntry[], removed: ReadonlySet<string>): LockFile {
  const known = new Map(file.entries.map((entry) => [entryName(entry), entry]));
  for (const name of removed) known.delete(name);
  for (const entry of changed) {
    const foreign = Object.entries(known.get(entry.name) ?? {}).filter(([name]) => !OWN.includes(name));
    known.set(entry.name, { ...Object.fromEntries(foreign), ...entry });
  }
  return { ...file, entries: [...known.values()] };
}

const entryName = (entry: Members): string => String(entry['name']);

function parseYaml(text: string): unknown {
  try {
    return parse(text) as unknown;
  } catch {
    throw new LockFileError('is not valid YAML: restore it');
  }
}

function requireMembers(value: unknown, reason: string): Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new LockFileError(reason);
  return { ...value };
}
