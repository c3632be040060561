import type { Backend } from '../../../gateway/contract/gateway-config.ts';
import { SCHEMA_VERSION, type RunConfig } from '../../../gateway/contract/run-config/run-config.ts';
import type { BackendStatus } from '../../../gateway/process/gateway.ts';
import type { FileWorkload } from '../../../gateway/workloads/workloads.ts';
import type { Manifests } from '../../source/files/load.ts';
import type { RunnableServer } from './running-servers.ts';

const DEFAULT_NAMESPACE = 'default';
const KINDS = ['MCPServer', 'MCPServerEntry'];

/**
 * Lists the servers of the files as workloads of the management API. A server of several groups is listed once. `since` is the start of
 * `vmcp up`, in RFC 3339.
 */
export function fileWorkloads(
  servers: readonly RunnableServer[],
  { locate }: Pick<Manifests, 'locate'>,
  { statusOf, since }: { readonly statusOf: BackendStatus; readonly since: string },
): FileWorkload[] {
  const listed = new Map<string, FileWorkload>();
  for (const { namespace, config } of servers) {
    for (const backend of config.vmcp.backends) {
      const name = namespace === DEFAULT_NAMESPACE ? backend.name : `${namespace}.${backend.name}`;
      if (listed.has(name)) continue;
      const place = KINDS.map((kind) => locate({ kind, namespace, name: backend.name }, '')).find(Boolean);
      const workload = {
        config: runConfigOf(name, backend, config.group),
        ...statusOf(namespace, backend.name),
        ...{ created_at: since, started_at: since, isFromFile: true },
      };
      listed.set(name, { workload, place: place ? `${place.file}:${String(place.line)}` : 'a file' });
    }
  }
  return [...listed.values()];
}

/** Lists the groups of the files, as servers and resources name them. */
export const fileGroups = (servers: readonly RunnableServer[], { objects }: Pick<Manifests, 'objects'>): string[] => [
  ...new Set([
    ...servers.flatMap(({ config }) => config.group ?? []),
    ...objects.flatMap(({ kind, name }) => (kind === 'MCPGroup' ? [name] : [])),
  ]),
];

/** Returns the run configuration of a backend. Variables that come from Secrets are left out. */
function runConfigOf(name: string, { process, url, transport }: Backend, group: string | undefined): RunConfig {
  return {
    ...{ schema_version: SCHEMA_VERSION, name, base_name: name, transport },
    ...(group !== undefined && { group }),
    ...(process ? { image: process.image } : { remote_url: url ?? '' }),
    ...(process?.package && { package: process.package }),
    ...(process?.working_dir !== undefined && { working_dir: process.working_dir }),
    ...(process?.args && { cmd_args: [...process.args] }),
    ...(process?.env_vars && { env_vars: process.env_vars }),
    ...(process?.target_port !== undefined && { target_port: process.target_port }),
  };
}
