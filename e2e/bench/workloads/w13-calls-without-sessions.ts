import { startBackends, startTarget } from '../contenders.ts';
import { openSession, toolNames } from '../mcp.ts';
import type { Body, Plan } from '../load/load.ts';
import { loadInTurn, ratioOf } from '../slices.ts';
import { TEXT, toolCallPlan } from '../tool-call-plan.ts';
import { atLeast, type Bench, type RateRow, type Report, type Workload } from '../workload.ts';

const BACKENDS = 3;
const TOOLS = 10;
const REVISION = '2026-07-28';
const META = {
  'io.modelcontextprotocol/protocolVersion': REVISION,
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** Members of the same lengths that mean nothing: with them a request of a session is as long. */
const PADDING = Object.fromEntries(
  Object.entries(META).map(([key, value]) => [
    key.replace('io.modelcontextprotocol/', 'org.example.benchmark.x/'),
    value,
  ]),
);

function toBody(name: string, meta: object, revision: string): Body {
  const params = JSON.stringify({ name, arguments: { text: TEXT }, _meta: meta });
  return {
    before: '{"jsonrpc":"2.0","id":',
    after: `,"method":"tools/call","params":${params}}`,
    headers: { 'mcp-protocol-version': revision, 'mcp-method': 'tools/call', 'mcp-name': name },
  };
}

async function run(bench: Bench): Promise<Report> {
  const { rounds, seconds, targets } = bench.options;
  if (!targets.includes('gateway'))
    return { rates: [], figures: [], notes: ['W13 was left out: a bare proxy has no revisions.'] };
  const set = await startBackends(BACKENDS, TOOLS);
  // one gateway for all: two of one build differ by a tenth, as V8 optimizes each in its own way
  const server = await startTarget(bench, 'gateway', set);
  const names = await toolNames(server.url, await openSession(server.url));
  const rates: RateRow[] = [];
  for (const connections of bench.options.connections) {
    const short = await toolCallPlan(server, names, connections, { warm: names.length });
    const long: Plan = { ...short, bodies: names.map((name) => toBody(name, PADDING, '2025-11-25')) };
    const plan: Plan = {
      port: server.port,
      sessions: [],
      bodies: names.map((name) => toBody(name, META, REVISION)),
      mustContain: '"resultType"',
    };
    const { pid } = server.child;
    const contenders = [
      { name: 'with sessions', pid, plan: short },
      { name: 'with sessions, as long', pid, plan: long },
      { name: 'without sessions', pid, plan },
    ];
    const measured = await loadInTurn(bench.engine, contenders, { connections, rounds, seconds });
    const own = measured.get('without sessions');
    const variant = `${String(connections)} connection${connections === 1 ? '' : 's'}`;
    for (const [kind, series] of measured) {
      const ratio = own && own !== series ? ratioOf(own, series) : null;
      const goal = ratio === null ? null : atLeast(ratio, 1, 'of these calls');
      rates.push({ workload: 'W13 calls of 2026-07-28', variant, server: kind, ratio, goal, ...series });
    }
  }
  const notes = [
    'W13: ratios of the calls without sessions to those with sessions of the same gateway. Each call without a session describes itself in 3 headers and 180 bytes; "as long" are calls of sessions with as many bytes.',
  ];
  return { rates, figures: [], notes };
}

/** W13: the calls of W1, each without a session. */
export const callsWithoutSessions: Workload = { id: 'W13', title: 'tools/call without sessions', run };
