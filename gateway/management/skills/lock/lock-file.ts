import { parse, stringify } from 'yaml';

/** Name of the file in a project that pins its skills. */
export const LOCK_FILE = 'skills.lock.yaml';
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
  /** Skills that need this one. */
  readonly requiredBy?: readonly string[];
  /** True for a skill that was requested itself, not only as a dependency. */
  readonly explicit?: true;
}

type Members = Readonly<Record<string, unknown>>;

/** Lock file in memory. Entries and members that this version does not know stay unchanged. */
export interface LockFile {
  readonly entries: readonly Members[];
  readonly others: Members;
}

/** The lock file cannot be used. */
export class LockFileError extends Error {
  constructor(reason: string) {
    super(`${LOCK_FILE} ${reason}`);
    this.name = 'LockFileError';
  }
}

/** Parses a lock file; an empty text has no entries. @throws LockFileError */
export function parseLockFile(text: string): LockFile {
  if (text.trim() === '') return { entries: [], others: {} };
  const document = membersOf(parseYaml(text), 'must hold a map');
  const { version, skills, ...others } = document;
  if (version !== VERSION) {
    throw new LockFileError(`has the version ${JSON.stringify(version)}, which this vmcp does not know: update vmcp`);
  }
  if (skills !== undefined && skills !== null && !Array.isArray(skills))
    throw new LockFileError('must have a list in "skills"');
  const entries = ((skills ?? []) as unknown[]).map((entry) => membersOf(entry, 'must hold maps in "skills"'));
  return { entries, others };
}

/** Renders a lock file with its entries sorted by name. */
export function renderLockFile({ entries, others }: LockFile): string {
  const skills = entries.toSorted((one, two) => (nameOf(one) < nameOf(two) ? -1 : 1));
  return stringify({ version: VERSION, skills, ...others }, { lineWidth: 0 });
}

/** Members of an entry that this version writes, and so removes when they no longer apply. */
const OWN = ['version', 'unsigned', 'requiredBy', 'explicit'];

/** Adds the `changed` entries or replaces those of the same name, and removes the entries whose names are `removed`. */
export function updateLockFile(file: LockFile, changed: readonly LockEntry[], removed: ReadonlySet<string>): LockFile {
  const known = new Map(file.entries.map((entry) => [nameOf(entry), entry]));
  for (const name of removed) known.delete(name);
  for (const entry of changed) {
    const foreign = Object.entries(known.get(entry.name) ?? {}).filter(([name]) => !OWN.includes(name));
    known.set(entry.name, { ...Object.fromEntries(foreign), ...entry });
  }
  return { ...file, entries: [...known.values()] };
}

const nameOf = (entry: Members): string => String(entry['name']);

function parseYaml(text: string): unknown {
  try {
    return parse(text) as unknown;
  } catch {
    throw new LockFileError('is not valid YAML: restore it');
  }
}

function membersOf(value: unknown, reason: string): Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new LockFileError(reason);
  return { ...value };
}
