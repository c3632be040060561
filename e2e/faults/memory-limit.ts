import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { eventually } from '../harness/poll.ts';
import type { Scope } from '../harness/scope.ts';
import type { Vmcp } from '../harness/vmcp.ts';

/** Memory limit of a gateway pod. */
export const LIMIT_MB = 768;
const CGROUPS = '/sys/fs/cgroup/memory';

/** Makes the kernel kill the process above the limit if cgroup v1 is writable; otherwise the test only measures. */
export function limitMemory(scope: Scope, { pid, stop }: Vmcp): void {
  const folder = `${CGROUPS}/vmcp-memory-${String(pid)}`;
  if (!existsSync(`${CGROUPS}/memory.limit_in_bytes`)) return;
  try {
    mkdirSync(folder);
    writeFileSync(`${folder}/memory.limit_in_bytes`, String(LIMIT_MB * 1024 * 1024));
    writeFileSync(`${folder}/cgroup.procs`, String(pid));
  } catch {
    return;
  }
  scope.defer(async () => {
    await stop();
    await eventually('the group is empty', () => readFileSync(`${folder}/cgroup.procs`, 'utf8') === '');
    rmdirSync(folder);
  });
}
