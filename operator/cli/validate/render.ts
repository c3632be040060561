import { jsonText } from '../../../gateway/contract/text/printable.ts';
import { STATE_FOLDER } from '../../../gateway/contract/run-config/secret-path.ts';
import type { GatewayConfig } from '../../../gateway/contract/gateway-config.ts';
import { CLUSTER_PLATFORM } from '../../render/index.ts';
import { distinct, type ObjectProblem } from '../../resolve/scope.ts';
import { allProblems, resolveAll, type ResolvedServer } from '../../resolve/resolve-all.ts';
import type { LoadOptions } from '../../source/files/load.ts';
import { yamlText } from '../../source/edit/resource-text.ts';
import { examine, locateProblems, type Examination } from './examine.ts';
import { count, formatProblems, summarize, type Io } from './problems-output.ts';
import { EXIT } from '../exit.ts';

export type RenderFormat = 'json' | 'yaml';

export interface RenderFlags extends LoadOptions {
  /** Name or namespace/name of the VirtualMCPServer, required when there are several. */
  readonly name?: string;
  /** State folder in the rendered paths of secret files; `$STATE` when absent. */
  readonly stateDir?: string;
  /** `json` when absent. */
  readonly output?: RenderFormat;
}

/**
 * `vmcp render PATH... [--name NAME] [-o FORMAT]`: prints one GatewayConfig; 0, or 2 with the problems on stderr. Without a
 * VirtualMCPServer it prints that of an MCPServer with a gateway of its own, as the pod reads it.
 */
export async function render(
  paths: readonly string[],
  { stateDir = STATE_FOLDER, name, output = 'json', ...options }: RenderFlags,
  io: Io,
): Promise<number> {
  const examination = await examine(paths, options, stateDir);
  const { manifests, servers } = examination;
  const chosen = choose(servers.length > 0 ? servers : resolveAll(manifests, CLUSTER_PLATFORM).ownGateways, name);
  if (typeof chosen === 'string') {
    io.stderr.write(formatProblems(examination.problems, []));
    io.stderr.write(`${chosen}\n`);
    return EXIT.invalid;
  }
  if (!chosen.config || chosen.excluded.length > 0 || manifests.problems.length > 0) {
    refuse(examination, chosen, io);
    return EXIT.invalid;
  }
  const warnings = [...chosen.warnings, ...needUp(chosen.config, chosen.namespace)];
  io.stderr.write(formatProblems([], [...manifests.warnings, ...locateProblems(manifests, warnings)]));
  io.stdout.write(output === 'yaml' ? yamlText(chosen.config) : `${jsonText(chosen.config, 2)}\n`);
  return EXIT.done;
}

/** Warns about HTTP servers that only `vmcp up` starts: without their URL `vmcp gateway` rejects the document. */
const needUp = ({ vmcp }: GatewayConfig, namespace: string): ObjectProblem[] =>
  vmcp.backends
    .filter(({ transport, url, process }) => transport !== 'stdio' && process !== undefined && url === undefined)
    .map(({ name, transport }) => ({
      kind: 'MCPServer',
      namespace,
      name,
      path: 'spec.transport',
      reason: 'NeedsVmcpUp',
      message: `only vmcp up assigns a port to a server of transport ${transport}, so vmcp gateway rejects this document: run these files with vmcp up`,
    }));

function refuse({ manifests }: Examination, server: ResolvedServer, io: Io): void {
  const all = [...manifests.problems, ...locateProblems(manifests, distinct(allProblems(server)))];
  io.stderr.write(formatProblems(all, []));
  io.stderr.write(`${summarize(all, [])}\n`);
}

/** Returns the server to render, or a message with the available ones. */
export function choose(servers: readonly ResolvedServer[], name: string | undefined): ResolvedServer | string {
  const [first, ...others] = servers;
  if (!first) return 'these paths contain no VirtualMCPServer that can be rendered: add one';
  const names = servers.map((server) => `${server.namespace}/${server.name}`).join(', ');
  if (name === undefined) {
    return others.length === 0
      ? first
      : `there are ${count(servers.length, 'VirtualMCPServer')}: choose one with --name (${names})`;
  }
  const matches = servers.filter((server) => server.name === name || `${server.namespace}/${server.name}` === name);
  const [match, ...more] = matches;
  if (!match) return `there is no VirtualMCPServer "${name}": choose one of ${names}`;
  return more.length === 0
    ? match
    : `"${name}" exists in several namespaces: choose one with --name NAMESPACE/${name} (${names})`;
}
