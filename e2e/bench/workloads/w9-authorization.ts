import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { GatewayConfig } from '../../../gateway/contract/gateway-config.ts';
import { startIssuer, type Issuer } from '../../harness/issuer.ts';
import { startBackends, type BackendSet } from '../contenders.ts';
import { configOver, startGateway } from '../gateway.ts';
import { callTool, openSession, toolNames } from '../mcp.ts';
import { loadInTurn, ratioOf, type Contender, type Series } from '../slices.ts';
import { TEXT, toolCallPlan } from '../tool-call-plan.ts';
import { atLeast, type Bench, type RateRow, type Report, type Workload } from '../workload.ts';

const BACKENDS = 3;
const TOOLS = 10;
const USERS = 32;

/** Twenty policies over users, groups, backends and tools, one of which permits the calls. */
const CACHEABLE = [
  'permit(principal in Group::"callers", action == Action::"call_tool", resource in MCP::"bench");',
  ...Array.from(
    { length: 19 },
    (_, index) =>
      `${index % 2 === 0 ? 'permit' : 'forbid'}(principal in Group::"team-${String(index)}", action, resource == Tool::"tool-${String(index)}") when { principal.claim_tier == "gold" };`,
  ),
];
const OF_ARGUMENTS =
  'forbid(principal, action, resource) when { context has arg_text && context.arg_text == "nothing" };';

interface Kind {
  readonly server: string;
  readonly users: boolean;
  readonly policies?: readonly string[];
  /** Least ratio to the anonymous calls of W1. */
  readonly floor?: number;
}

const KINDS: readonly Kind[] = [
  { server: 'anonymous', users: false },
  { server: 'JWT', users: true },
  { server: 'JWT + 20 policies', users: true, policies: CACHEABLE, floor: 0.85 },
  { server: 'JWT + 20 policies, 1 of arguments', users: true, policies: [...CACHEABLE, OF_ARGUMENTS], floor: 0.5 },
];

interface Started {
  readonly kind: Kind;
  readonly pid: number;
  readonly url: string;
  readonly port: number;
  readonly names: readonly string[];
}

function configOf({ users, policies }: Kind, issuer: Issuer, { backends }: BackendSet): GatewayConfig {
  const authentication = { issuer: issuer.url, audience: 'vmcp', outgoing: { type: 'unauthenticated' } };
  const config = configOver(backends, users ? authentication : undefined);
  if (!policies) return config;
  return { ...config, authz_config: { type: 'cedarv1', version: '1.0', cedar: { policies: [...policies] } } };
}

async function startContender(
  bench: Bench,
  kind: Kind,
  issuer: Issuer,
  set: BackendSet,
  token: string,
): Promise<Started> {
  const file = join(bench.folder, `gateway-w9-${String(KINDS.indexOf(kind))}.json`);
  writeFileSync(file, JSON.stringify(configOf(kind, issuer, set)), { mode: 0o600 });
  const { child, port } = await startGateway(bench.root, file);
  const url = `http://127.0.0.1:${String(port)}/mcp`;
  const bearer = kind.users ? token : undefined;
  const session = await openSession(url, bearer);
  const names = await toolNames(url, session, bearer);
  if (names.length !== BACKENDS * TOOLS)
    throw new Error(`${kind.server}: tools/list has ${String(names.length)} tools`);
  for (const tool of names) await callTool(url, tool, TEXT, session, bearer);
  const inTurn = names.toSorted((a, b) => toolOf(a).localeCompare(toolOf(b)));
  return { kind, pid: child.pid, url, port, names: inTurn };
}

/** Returns the name without the prefix of its backend. */
const toolOf = (name: string): string => name.slice(name.indexOf('_'));

async function toContender(started: Started, connections: number, tokens: readonly string[]): Promise<Contender> {
  const { kind, pid, names } = started;
  const users = kind.users ? tokens : [];
  return {
    name: kind.server,
    pid,
    plan: await toolCallPlan(started, names, Math.max(connections, USERS), { tokens: users }),
  };
}

function toRow(connections: number, { server, floor }: Kind, measured: Series, anonymous: Series | undefined): RateRow {
  const ratio = server !== 'anonymous' && anonymous ? ratioOf(measured, anonymous) : null;
  const variant = `${String(connections)} connection${connections === 1 ? '' : 's'}, ${String(USERS)} users`;
  const goal = ratio === null || floor === undefined ? null : atLeast(ratio, floor, 'of W1');
  return { workload: 'W9 Cedar policies', variant, server, ratio, goal, ...measured };
}

async function run(bench: Bench): Promise<Report> {
  const { rounds, seconds, targets } = bench.options;
  if (!targets.includes('gateway')) {
    return { rates: [], figures: [], notes: ['W9 was left out: a bare proxy has no policies.'] };
  }
  const stops: (() => unknown)[] = [];
  const rates: RateRow[] = [];
  try {
    const issuer = await startIssuer({ defer: (stop) => void stops.push(stop) }, { algorithms: ['RS256'] });
    const exp = Math.floor(Date.now() / 1_000) + 86_400;
    const tokens = Array.from({ length: USERS }, (_, index) =>
      issuer.token({ sub: `user-${String(index)}`, groups: ['callers'], exp }),
    );
    const set = await startBackends(BACKENDS, TOOLS);
    const servers: Started[] = [];
    for (const kind of KINDS) servers.push(await startContender(bench, kind, issuer, set, tokens.at(-1) ?? ''));
    for (const connections of bench.options.connections) {
      const contenders = await Promise.all(servers.map((server) => toContender(server, connections, tokens)));
      const measured = await loadInTurn(bench.engine, contenders, { connections, rounds, seconds });
      const rows = KINDS.flatMap((kind) => {
        const series = measured.get(kind.server);
        return series ? [toRow(connections, kind, series, measured.get('anonymous'))] : [];
      });
      bench.log(rows.map(({ server, perSecond }) => `${server} ${perSecond.toFixed(0)}/s`).join(', '));
      rates.push(...rows);
    }
  } finally {
    for (const stop of stops) await stop();
  }
  return {
    rates,
    figures: [],
    notes: [
      'W9: ratio to the anonymous calls of W1, measured beside it. JWT alone is the part that policies do not cause.',
    ],
  };
}

/** W9: the calls of W1 by several users, under Cedar policies. */
export const authorizedCalls: Workload = { id: 'W9', title: 'tools/call under Cedar policies', run };
