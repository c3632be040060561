import { startBackends, startTarget } from '../contenders.ts';
import { openSession, toolNames } from '../mcp.ts';
import type { Body, Plan } from '../load/load.ts';
import { loadInTurn } from '../slices.ts';
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

function toBody(name: string): Body {
  const params = JSON.stringify({ name, arguments: { text: TEXT }, _meta: META });
  return {
    before: '{"jsonrpc":"2.0","id":',
    after: `,"method":"tools/call","params":${params}}`,
    headers: { 'mcp-protocol-version': REVISION, 'mcp-method': 'tools/call', 'mcp-name': name },
  };
}

async function run(bench: Bench): Promise<Report> {
  const { rounds, seconds, targets } = bench.options;
  if (!targets.includes('gateway'))
    return { rates: [], figures: [], notes: ['W13 was left out: a bare proxy has no revisions.'] };
  const set = await startBackends(BACKENDS, TOOLS);
  const older = await startTarget(bench, 'gateway', set);
  const server = await startTarget(bench, 'gateway', set);
  const names = await toolNames(server.url, await openSession(server.url));
  const rates: RateRow[] = [];
  for (const connections of bench.options.connections) {
    const plan: Plan = { port: server.port, sessions: [], bodies: names.map(toBody), mustContain: '"resultType"' };
    const contenders = [
      {
        name: 'with sessions',
        pid: older.child.pid,
        plan: await toolCallPlan(older, names, connections, { warm: names.length }),
      },
      { name: 'without sessions', pid: server.child.pid, plan },
    ];
    const measured = await loadInTurn(bench.engine, contenders, { connections, rounds, seconds });
    const base = measured.get('with sessions')?.perSecond;
    for (const [kind, series] of measured) {
      const ratio = kind === 'without sessions' && base !== undefined ? series.perSecond / base : null;
      const goal = ratio === null ? null : atLeast(ratio, 1, 'of calls with sessions');
      const variant = `${String(connections)} connection${connections === 1 ? '' : 's'}`;
      rates.push({ workload: 'W13 calls of 2026-07-28', variant, server: kind, ratio, goal, ...series });
    }
  }
  return { rates, figures: [], notes: ['W13: ratio to the calls of W1, measured beside them at another gateway.'] };
}

/** W13: the calls of W1, each without a session. */
export const callsWithoutSessions: Workload = { id: 'W13', title: 'tools/call without sessions', run };
