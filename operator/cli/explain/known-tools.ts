import { PassThrough } from 'node:stream';
import type { GatewayConfig } from '../../../gateway/contract/gateway-config.ts';
import { startGateway } from '../../../gateway/process/gateway.ts';
import { createLog } from '../../../gateway/telemetry/log.ts';
import { createLauncherFor } from '../gateway/launcher.ts';
import { openSession, type Tool } from '../client/mcp-session.ts';
import { VERSION } from '../version.ts';
import type { KnownTool } from '../../../gateway/policy/explain/explanation.ts';

type Backend = GatewayConfig['vmcp']['backends'][number];

/** Tools of the backends, and the backends that could not be asked. */
export interface Listing {
  readonly tools: readonly KnownTool[];
  readonly unknown: readonly string[];
}

/**
 * Lists the tools of the declared backends, with their aggregation. Starts gateways on this machine, without users and policies,
 * for the moment of the listing; backends get no credential.
 */
export async function listTools(config: GatewayConfig, place: { readonly state?: string }): Promise<Listing> {
  const backends = config.vmcp.backends.filter(canBeAsked);
  const log = createLog(new PassThrough().resume(), 'error');
  const launcher = await createLauncherFor(config, place.state, log);
  const on = { host: '127.0.0.1', port: 0, local: true };
  const gateway = await startGateway({
    servers: [
      { ...on, config: openConfig(config, 'all', backends) },
      ...backends.map((backend) => ({
        ...on,
        config: openConfig(withoutFilters(config), `of-${backend.name}`, [backend]),
      })),
    ],
    management: { host: '127.0.0.1', port: 0 },
    log,
    version: VERSION,
    launcher,
  });
  try {
    const lists = await Promise.all(
      gateway.servers.map(async ({ name, mcpUrl }) => [name, await toolsAt(mcpUrl)] as const),
    );
    return assemble(config, backends, new Map(lists));
  } finally {
    await gateway.stop(0);
    await launcher?.close();
  }
}

/** Only `vmcp up` starts HTTP servers. */
const canBeAsked = ({ url, transport }: Backend): boolean => url !== undefined || transport === 'stdio';

/** Returns the configuration for anonymous clients on this machine. */
const openConfig = (config: GatewayConfig, name: string, backends: readonly Backend[]): GatewayConfig => ({
  schema_version: config.schema_version,
  name,
  vmcp: {
    incoming: { type: 'anonymous' },
    backends: [...backends],
    aggregation: config.vmcp.aggregation,
    operational: config.vmcp.operational,
  },
});

/** Returns the configuration with its renamed tools, and without its hidden ones. */
function withoutFilters(config: GatewayConfig): GatewayConfig {
  const { exclude_all_tools: _all, tools = [], backend_tools: own = {}, ...aggregation } = config.vmcp.aggregation;
  const renamed = tools.map(({ exclude_all: _hidden, filter: _some, ...rule }) => rule);
  const ownNames = Object.fromEntries(Object.entries(own).map(([name, { filter: _some, ...rule }]) => [name, rule]));
  const open = { ...aggregation, default_tool_visibility: 'allow' as const, tools: renamed, backend_tools: ownNames };
  return { ...config, vmcp: { ...config.vmcp, aggregation: open } };
}

async function toolsAt(url: string): Promise<Tool[]> {
  const session = await openSession(url, '-', NO_LOGIN);
  try {
    return await session.tools();
  } finally {
    await session.close();
  }
}

const NO_LOGIN = { stateDir: '', isInteractive: false, show: () => undefined };

/** Of several backends with a tool of one name, the first by priority has it. */
function assemble(
  { vmcp: { aggregation } }: GatewayConfig,
  backends: readonly Backend[],
  lists: ReadonlyMap<string, readonly Tool[]>,
): Listing {
  const visible = new Set((lists.get('all') ?? []).map(({ name }) => name));
  const order = aggregation.priority_order ?? [];
  const rank = (backend: string): number => (order.includes(backend) ? order.indexOf(backend) : order.length);
  const ranked = backends.map(({ name }) => name).toSorted((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  const tools = new Map<string, KnownTool>();
  for (const backend of ranked) {
    for (const tool of lists.get(`of-${backend}`) ?? []) {
      const { name } = tool;
      const json = Buffer.from(JSON.stringify(tool));
      if (!tools.has(name)) tools.set(name, { name, backend, json, isVisible: visible.has(name) });
    }
  }
  const answered = new Set(
    backends.map(({ name }) => name).filter((name) => (lists.get(`of-${name}`) ?? []).length > 0),
  );
  return {
    tools: [...tools.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    unknown: ranked.filter((name) => !answered.has(name)),
  };
}
