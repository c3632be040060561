import type { GatewayConfig } from '../../../gateway/contract/gateway-config.ts';
import { distinct, type ObjectProblem } from '../../resolve/problems.ts';
import type { ResolvedServer } from '../../resolve/resolve-all.ts';
import { examine, locateProblems, type Examination } from './examine.ts';
import { count, formatProblems, summarize, type Io } from './problems-output.ts';

export interface RenderOptions {
  /** Name, or namespace/name, of the VirtualMCPServer; needed when there are several. */
  readonly name?: string;
  /** State folder that the rendered paths of secret files lie below; `$STATE` stands for it when absent. */
  readonly stateDir?: string;
  readonly secretsDir?: string;
}

/** `vmcp render PATH... [--name NAME]`: prints one GatewayConfig as JSON; 0, or 2 with the problems on stderr. */
export async function render(
  paths: readonly string[],
  { stateDir = '$STATE', name, ...options }: RenderOptions,
  io: Io,
): Promise<number> {
  const examination = await examine(paths, options, stateDir);
  const chosen = choose(examination.servers, name);
  if (typeof chosen === 'string') {
    io.stderr.write(formatProblems(examination.problems, []));
    io.stderr.write(`${chosen}\n`);
    return 2;
  }
  if (!chosen.config || examination.manifests.problems.length > 0) {
    refuse(examination, chosen, io);
    return 2;
  }
  const warnings = [...chosen.warnings, ...needUp(chosen.config, chosen.namespace)];
  io.stderr.write(formatProblems([], locateProblems(examination.manifests, warnings)));
  io.stdout.write(`${JSON.stringify(chosen.config, null, 2)}\n`);
  return 0;
}

/** Servers over HTTP that `vmcp up` starts and gives a URL: without one `vmcp gateway` refuses the document. */
const needUp = ({ vmcp }: GatewayConfig, namespace: string): ObjectProblem[] =>
  vmcp.backends
    .filter(({ transport, url, process }) => transport !== 'stdio' && process !== undefined && url === undefined)
    .map(({ name, transport }) => ({
      kind: 'MCPServer',
      namespace,
      name,
      path: 'spec.transport',
      reason: 'NeedsVmcpUp',
      message: `only vmcp up gives a server of transport ${transport} its port, vmcp gateway refuses this document: run these files with vmcp up`,
    }));

function refuse({ manifests }: Examination, { problems }: ResolvedServer, io: Io): void {
  const all = [...manifests.problems, ...locateProblems(manifests, distinct(problems))];
  io.stderr.write(formatProblems(all, []));
  io.stderr.write(`${summarize(all, [])}\n`);
}

/** The server to render, or a sentence that says which ones there are. */
function choose(servers: readonly ResolvedServer[], name: string | undefined): ResolvedServer | string {
  const [first, ...others] = servers;
  if (!first) return 'there is no VirtualMCPServer that can be rendered in what was named: add one';
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
    : `"${name}" stands in several namespaces: choose one with --name NAMESPACE/${name} (${names})`;
}
