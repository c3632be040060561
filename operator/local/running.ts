import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive, isIdentity, type ProcessIdentity } from '../../gateway/workloads/runner/process/process-lock.ts';
import { writePrivateFile } from './secrets.ts';

/** Record of a running `vmcp up`, for the commands that talk to it. */
export interface Running extends ProcessIdentity {
  /** URL of the management listener, without a path. */
  readonly managementUrl: string;
  readonly servers: readonly RunningServer[];
  /** Absolute paths whose changes are applied; absent without `--watch`. */
  readonly watched?: readonly string[];
}

/** A virtual server of the record. */
export interface RunningServer {
  readonly name: string;
  readonly namespace: string;
  readonly mcpUrl: string;
  /** Issuer whose tokens are accepted; absent for anonymous servers. */
  readonly issuer?: string | undefined;
}

const fileOf = (stateDir: string): string => join(stateDir, 'running.json');

/** Writes the record. The caller holds the lock of the state folder. */
export const writeRunning = (stateDir: string, running: Running): Promise<void> =>
  writePrivateFile(fileOf(stateDir), `${JSON.stringify(running, undefined, 2)}\n`);

/** Removes the record. */
export const removeRunning = (stateDir: string): void => {
  rmSync(fileOf(stateDir), { force: true });
};

/** Reads the record. Returns undefined when there is none, or when its process is gone, for example after `kill -9`. */
export function readRunning(stateDir: string): Running | undefined {
  let record: unknown;
  try {
    record = JSON.parse(readFileSync(fileOf(stateDir), 'utf8'));
  } catch {
    return undefined;
  }
  return isRunning(record) && isAlive(record) ? record : undefined;
}

const isRunning = (value: unknown): value is Running =>
  isIdentity(value) &&
  hasTexts(value, ['managementUrl']) &&
  'servers' in value &&
  Array.isArray(value.servers) &&
  value.servers.every((server) => hasTexts(server, ['name', 'namespace', 'mcpUrl']));

const hasTexts = (value: unknown, names: readonly string[]): boolean =>
  typeof value === 'object' &&
  value !== null &&
  names.every((name) => typeof (value as Readonly<Record<string, unknown>>)[name] === 'string');
