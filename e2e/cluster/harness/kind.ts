import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '../../harness/vmcp.ts';
import { attempt, run } from './command.ts';
import type { Platform } from './platform.ts';

const NAME = 'vmcp-e2e';
const NODE = `${NAME}-control-plane`;
/** Default of kind. */
const SERVICES = '10.96.0.0/16';

/** A cluster of kind (https://kind.sigs.k8s.io) with Docker, on Linux. Adding its route requires root, or sudo without a password. */
export function kindCluster(): Platform {
  const folder = join(root, '.cache', 'kind');
  const kubeconfig = join(folder, 'admin.kubeconfig');
  return {
    name: 'kind',
    impossible,
    async describe() {
      return `kind on cgroup v${(await run('docker', ['info', '--format', '{{.CgroupVersion}}'])).trim()}`;
    },
    async up() {
      await mkdir(folder, { recursive: true });
      await run('kind', ['delete', 'cluster', '--name', NAME]);
      await run('kind', ['create', 'cluster', '--name', NAME, '--kubeconfig', kubeconfig, '--wait', '180s'], {
        inherit: true,
        timeoutMs: 10 * 60_000,
      });
      const nodeAddress = await inspect('{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}');
      const hostAddress = await inspect('{{range .NetworkSettings.Networks}}{{.Gateway}}{{end}}');
      await asRoot(['ip', 'route', 'replace', SERVICES, 'via', nodeAddress]);
      return { kubeconfig, hostAddress, nodeAddress };
    },
    async load(archives) {
      for (const archive of archives) {
        await run('kind', ['load', 'image-archive', archive, '--name', NAME], { timeoutMs: 300_000 });
      }
    },
    saveLogs: async (target) => {
      await run('kind', ['export', 'logs', target, '--name', NAME]);
    },
    async down() {
      await asRoot(['ip', 'route', 'del', SERVICES]).catch(() => undefined); // the route does not exist when the cluster did not start
      await run('kind', ['delete', 'cluster', '--name', NAME]);
    },
  };
}

async function impossible(): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'ClusterIPs of kind can be reached from Linux only';
  for (const [program, args] of [
    ['docker', ['info']],
    ['kind', ['version']],
  ] as const) {
    const works = await attempt(program, args).then(
      ({ code }) => code === 0,
      () => false,
    );
    if (!works) return `${program} ${args.join(' ')} does not work: kind needs Docker and kind`;
  }
  return undefined;
}

const inspect = async (format: string): Promise<string> =>
  (await run('docker', ['inspect', '--format', format, NODE])).trim();

async function asRoot(command: readonly [string, ...string[]]): Promise<void> {
  const [file, ...args] = process.getuid?.() === 0 ? command : (['sudo', '-n', ...command] as const);
  await run(file, args);
}
