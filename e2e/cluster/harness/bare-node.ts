import { existsSync } from 'node:fs';
import { cp, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '../../harness/vmcp.ts';
import { run } from './command.ts';
import type { Platform } from './platform.ts';

const script = (name: string): string => join(root, 'e2e', 'cluster', name);
const TMPFS = 0x01021994;

/** A node of real daemons in separate Linux namespaces, as root, without Docker: the scripts of e2e/cluster. */
export function bareNode(): Platform {
  const cache = process.env['CLUSTER_CACHE'] ?? join(root, '.cache', 'test-cluster');
  const folder = process.env['CLUSTER_RUN'] ?? join(cache, 'run');
  const link = process.env['CLUSTER_LINK'] ?? '172.31.250';
  return {
    name: 'node',
    async impossible() {
      if (process.platform !== 'linux') return 'a bare node needs Linux';
      if (process.getuid?.() !== 0) return 'a bare node needs root';
      // With cgroup v1 a tmpfs contains the hierarchies; with v2 there is one hierarchy of type cgroup2.
      const { type } = await statfs('/sys/fs/cgroup');
      if (type !== TMPFS) return 'a bare node needs cgroup v1, and this machine has cgroup v2';
      return undefined;
    },
    describe: async () => 'bare node on cgroup v1',
    async up() {
      await run(script('build.sh'), [], { inherit: true, timeoutMs: 30 * 60_000 });
      await down(folder); // remains of an earlier run
      await run(script('up.sh'), [], { inherit: true });
      const kubeconfig = join(folder, 'admin.kubeconfig');
      return { kubeconfig, hostAddress: `${link}.1`, nodeAddress: `${link}.2` };
    },
    load: async (archives) => {
      await run(script('load.sh'), archives);
    },
    async saveLogs(target) {
      for (const [from, to] of [
        ['log', 'daemons'],
        ['var/log/pods', 'pods'],
      ] as const) {
        if (existsSync(join(folder, from))) await cp(join(folder, from), join(target, to), { recursive: true });
      }
    },
    down: () => down(folder),
  };
}

async function down(folder: string): Promise<void> {
  if (existsSync(folder)) await run(script('down.sh'), [], { inherit: true });
}
