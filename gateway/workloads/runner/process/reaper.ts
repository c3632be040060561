import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { removeOrphanedEnvFiles, removeOrphanedNetworks } from './owned-entries.ts';
import { engineEnvironment, type Environment } from '../environment.ts';
import { isAlive, startTime } from './process-lock.ts';
import { readRecords, removeRecord, type ProcessRecord } from './records.ts';

export interface ReapOptions {
  readonly stateDir: string;
  readonly hostEnv: Environment;
  /** Time between SIGTERM and SIGKILL. */
  readonly graceMs?: number;
}

/**
 * Ends processes that an earlier vmcp process left running in this state folder, and returns their records. Pid and start
 * time must both match; records and env files of a running vmcp process are kept, and records of containers whose engine
 * does not respond. Call it before the first spawn.
 */
export async function reapOrphans({ stateDir, hostEnv, graceMs = 2_000 }: ReapOptions): Promise<ProcessRecord[]> {
  const orphaned = readRecords(stateDir).filter(({ owner }) => !isAlive(owner));
  const alive = orphaned.filter(({ pid, startTime: started }) => startTime(pid) === started);
  await endGroups(alive, graceMs);
  const left = await removeContainers(orphaned, hostEnv);
  for (const { pid, container } of orphaned) if (!container || !left.has(container.name)) removeRecord(stateDir, pid);
  removeOrphanedEnvFiles(stateDir);
  removeOrphanedNetworks(stateDir);
  return alive;
}

async function endGroups(records: readonly ProcessRecord[], graceMs: number): Promise<void> {
  for (const { pgid } of records) signalGroup(pgid, 'SIGTERM');
  const left = () => records.some(({ pgid }) => groupExists(pgid));
  for (let waited = 0; left() && waited < graceMs; waited += 50) await sleep(50);
  for (const { pgid } of records) signalGroup(pgid, 'SIGKILL');
}

/** Signals a group. Returns false when it is gone. */
export function signalGroup(pgid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-pgid, signal);
    return true;
  } catch {
    return false;
  }
}

/** Returns true while the group has a member that is not a zombie. */
const groupExists = (pgid: number): boolean => signalGroup(pgid, 0);

/**
 * Removes the containers of records: servers first, because podman keeps a relay that a server depends on. Returns the names
 * of those that may still exist.
 */
async function removeContainers(records: readonly ProcessRecord[], hostEnv: Environment): Promise<Set<string>> {
  const left = new Set<string>();
  const containers = records.flatMap(({ container }) => (container ? [container] : []));
  for (const relays of [false, true]) {
    const batch = containers.filter(({ isRelay }) => (isRelay ?? false) === relays);
    await Promise.all(
      batch.map(async (container) => {
        if (!(await removeContainerByName(container, hostEnv))) left.add(container.name);
      }),
    );
  }
  return left;
}

/** Removes a container. Returns false when it may still exist, because the engine does not respond. */
export async function removeContainerByName(
  { engine, name }: { engine: string; name: string },
  hostEnv: Environment,
): Promise<boolean> {
  const options = { env: engineEnvironment(hostEnv), timeout: 15_000 };
  return promisify(execFile)(engine, ['rm', '-f', name], options).then(
    () => true,
    (error: unknown) => /no such container|no container with/iu.test(String(error)),
  );
}
