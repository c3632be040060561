import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { identityOf, isAlive, type ProcessIdentity } from './process-lock.ts';
import { LaunchError } from '../runner.ts';

/** Returns an unused path in a folder of mode 0700. Its name has the identity of this process. */
export function ownedPath(folder: string): string {
  const { pid, startTime } = identityOf(process.pid);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return join(folder, `${String(pid)}_${encodeURIComponent(startTime)}_${randomUUID()}`);
}

/** Removes the files and folders of processes that are gone, and those without an owner. */
export function removeOrphanedEntries(folder: string): void {
  for (const name of listFolder(folder)) {
    const owner = ownerOf(name);
    if (owner === undefined || !isAlive(owner)) rmSync(join(folder, name), { recursive: true, force: true });
  }
}

function ownerOf(name: string): ProcessIdentity | undefined {
  const [pid = '', startTime = ''] = name.split('_');
  if (!/^\d+$/.test(pid)) return undefined;
  try {
    return { pid: Number(pid), startTime: decodeURIComponent(startTime) };
  } catch {
    return undefined;
  }
}

function listFolder(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

const networksIn = (stateDir: string): string => join(stateDir, 'networks');

/** Returns the path of a new folder for the sockets of an isolated network. It belongs to this process. */
export const networkFolder = (stateDir: string): string => ownedPath(networksIn(stateDir));

/** Removes the folders of processes that are gone. */
export const removeOrphanedNetworks = (stateDir: string): void => {
  removeOrphanedEntries(networksIn(stateDir));
};

/** Names that Kubernetes accepts. docker and podman treat others as comments, patterns or names of host variables. */
const NAME = /^[-._a-zA-Z][-._a-zA-Z0-9]*$/;
const LINE_BREAK = /[\n\r\0]/;
/** Longest line that docker and podman read, in bytes. */
const LONGEST_LINE_BYTES = 65_535;

const envFilesIn = (stateDir: string): string => join(stateDir, 'env-files');

/**
 * Writes the environment of a container for `--env-file`, mode 0600, and returns the path. It belongs to this process:
 * `removeOrphanedEnvFiles` removes it when this process is gone.
 * @throws LaunchError `EnvironmentUnsupported`
 */
export function writeEnvFile(stateDir: string, values: Readonly<Record<string, string>>): string {
  const content = envFileText(values);
  const path = ownedPath(envFilesIn(stateDir));
  writeFileSync(path, content, { mode: 0o600, flag: 'wx' });
  return path;
}

/** Checks that both engines accept the environment. @throws LaunchError `EnvironmentUnsupported` */
export function checkEnvFile(values: Readonly<Record<string, string>>): void {
  envFileText(values);
}

export function removeEnvFile(path: string): void {
  rmSync(path, { force: true });
}

/** Removes the files of processes that are gone. */
export const removeOrphanedEnvFiles = (stateDir: string): void => {
  removeOrphanedEntries(envFilesIn(stateDir));
};

/**
 * Renders one `NAME=value` per line. Both engines read the value literally, with quotes and blanks; neither supports
 * line breaks.
 */
function envFileText(values: Readonly<Record<string, string>>): string {
  const lines = Object.entries(values).map(([name, value]) => {
    if (!NAME.test(name)) {
      const shown = JSON.stringify(name);
      throw unsupported(`${shown} cannot name an environment variable: use letters, digits, "_", "-" and "."`);
    }
    if (LINE_BREAK.test(value)) {
      const remedy = 'write it on one line, for instance in base64, or use an npx:// or uvx:// package';
      throw unsupported(
        `environment variable ${name} contains a line break, which container engines do not support: ${remedy}`,
      );
    }
    const line = `${name}=${value}`;
    if (Buffer.byteLength(line) > LONGEST_LINE_BYTES) {
      throw unsupported(
        `environment variable ${name} is longer than 64 KiB, which container engines do not support: shorten it`,
      );
    }
    return `${line}\n`;
  });
  return lines.join('');
}

const unsupported = (message: string): LaunchError => new LaunchError('EnvironmentUnsupported', message);
