import { existsSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { parseObject } from '../../../gateway/contract/json.ts';
import { STATE_FOLDER } from '../../../gateway/contract/run-config/secret-path.ts';
import { jsonText, printable } from '../../../gateway/contract/text/printable.ts';
import { memberTexts } from '../../../gateway/http/known-members.ts';
import { explainTools, type Explanation, type KnownTool } from '../../../gateway/policy/explain/explanation.ts';
import type { LoadOptions } from '../../source/files/load.ts';
import { renderTable } from '../table.ts';
import { examine } from './examine.ts';
import { formatProblems, type Io } from './problems-output.ts';
import { choose } from './render.ts';
import type { GatewayConfig } from '../../../gateway/contract/gateway-config.ts';
import { startGateway } from '../../../gateway/process/gateway.ts';
import { createLog } from '../../../gateway/telemetry/log.ts';
import { createLauncherFor } from '../gateway.ts';
import { openSession, type Tool } from '../client/mcp-session.ts';
import { VERSION } from '../version.ts';
import { EXIT } from '../exit.ts';

export interface ExplainOptions extends LoadOptions {
  /** Claims of the user, such as `sub=alice,groups=admins|ops`. */
  readonly as: string;
  /** JSON object of the arguments of the call. */
  readonly arguments?: string;
  /** Name or namespace/name of the VirtualMCPServer, required when there are several. */
  readonly name?: string;
  readonly state?: string;
  readonly output?: 'json';
}

const HEADER = ['TOOL', 'ALLOWED', 'BY', 'HIDDEN BY', 'CREDENTIAL'];

/**
 * `vmcp explain PATH... [TOOL] --as CLAIMS`: exits with 0, or with 2 for invalid files or options. The last of several arguments is a
 * tool when no file has its name.
 */
export async function explain(
  words: readonly string[],
  { as, arguments: text = '{}', name, state, output, ...options }: ExplainOptions,
  io: Io,
): Promise<number> {
  const refuse = (message: string): number => {
    io.stderr.write(`${message}\n`);
    return EXIT.invalid;
  };
  const last = words.at(-1) ?? '';
  const tool = words.length > 1 && last !== '-' && !existsSync(last) ? last : undefined;
  const paths = tool === undefined ? words : words.slice(0, -1);
  const claims = readClaims(as);
  if (!claims) return refuse('--as needs claims with a subject, such as sub=alice,groups=admins|ops');
  if (!parseObject(text)) return refuse('--arguments needs a JSON object, such as {"amount": 5}');
  const args = Buffer.from(text);
  try {
    memberTexts(args, () => false);
  } catch (error) {
    return refuse(`--arguments cannot be read by the gateway: ${(error as Error).message}`);
  }
  const { servers, problems } = await examine(paths, options, STATE_FOLDER);
  const server = choose(servers, name);
  if (typeof server === 'string' || !server.config) {
    io.stderr.write(formatProblems(problems, []));
    return refuse(typeof server === 'string' ? server : `${server.name} cannot be explained: correct its problems`);
  }
  const { tools, unknown } = await listTools(server.config, { ...(state !== undefined && { state }) });
  for (const backend of unknown)
    io.stderr.write(`backend "${backend}" lists no tools here: vmcp up may give it what it needs\n`);
  const readArguments = (isRead: (name: string) => boolean = () => true) => memberTexts(args, isRead);
  const found = explainTools(server.config, tools, { claims, arguments: args, readArguments, tool });
  io.stdout.write(output === 'json' ? `${jsonText({ tools: found }, 2)}\n` : table(found));
  return EXIT.done;
}

const table = (found: readonly Explanation[]): string =>
  renderTable([
    HEADER,
    ...found.map(({ tool, allowed, by, filter, credential }) => [
      printable(tool),
      allowed ? 'yes' : 'no',
      printable(by),
      filter ?? '-',
      credential,
    ]),
  ])
    .map((line) => `${line}\n`)
    .join('');

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
async function listTools(config: GatewayConfig, place: { readonly state?: string }): Promise<Listing> {
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

/** Reads `sub=alice,groups=admins|ops,level=3`: `|` separates the values of a list. Returns undefined for another text. */
export function readClaims(text: string): Readonly<Record<string, unknown>> | undefined {
  const pairs = text.split(',').map((pair) => /^([^=]+)=(.*)$/u.exec(pair.trim()));
  if (pairs.some((pair) => pair === null)) return undefined;
  const claims = Object.fromEntries(pairs.map((pair) => [pair?.[1] ?? '', valueOf(pair?.[1] ?? '', pair?.[2] ?? '')]));
  return typeof claims['sub'] === 'string' && claims['sub'] !== '' ? claims : undefined;
}

function valueOf(name: string, text: string): unknown {
  if (name === 'sub') return text;
  if (text.includes('|')) return text.split('|').filter((value) => value !== '');
  if (text === 'true' || text === 'false') return text === 'true';
  const number = Number(text);
  return String(number) === text && Number.isSafeInteger(number) ? number : text;
}
