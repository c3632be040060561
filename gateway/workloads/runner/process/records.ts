import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isIdentity, type ProcessIdentity } from './process-lock.ts';

/** A started child, stored in `<state>/processes/<pid>.json` for the next start. */
export interface ProcessRecord {
  readonly pid: number;
  readonly pgid: number;
  readonly startTime: string;
  readonly name: string;
  readonly command: readonly string[];
  /** The vmcp process that started it. */
  readonly owner: ProcessIdentity;
  readonly container?: {
    readonly engine: string;
    readonly name: string;
    /** True for the relay of an isolated network, which is removed after the server. */
    readonly isRelay?: boolean;
  };
}

const folder = (stateDir: string): string => join(stateDir, 'processes');
const file = (stateDir: string, pid: number): string => join(folder(stateDir), `${pid}.json`);

/** Stores a record. Synchronous, so that no event comes between the start of a child and its record. */
export function writeRecord(stateDir: string, record: ProcessRecord): void {
  mkdirSync(folder(stateDir), { recursive: true, mode: 0o700 });
  writeFileSync(file(stateDir, record.pid), JSON.stringify(record), { mode: 0o600 });
}

export function removeRecord(stateDir: string, pid: number): void {
  rmSync(file(stateDir, pid), { force: true });
}

/** Reads all records. Removes invalid files, as truncated by a crash. */
export function readRecords(stateDir: string): ProcessRecord[] {
  const records: ProcessRecord[] = [];
  for (const name of listFolder(folder(stateDir))) {
    const record = parse(join(folder(stateDir), name));
    if (record === undefined) rmSync(join(folder(stateDir), name), { force: true });
    else records.push(record);
  }
  return records;
}

function listFolder(path: string): string[] {
  try {
    return readdirSync(path).filter((name) => name.endsWith('.json'));
  } catch {
    return [];
  }
}

function parse(path: string): ProcessRecord | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is ProcessRecord {
  if (!isIdentity(value) || !('pgid' in value) || !('owner' in value) || !('command' in value)) return false;
  // kill(-1) and kill(0) address more than one group.
  return typeof value.pgid === 'number' && value.pgid > 1 && isIdentity(value.owner) && Array.isArray(value.command);
}
