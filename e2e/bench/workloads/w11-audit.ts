import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startBackends, type BackendSet } from '../contenders.ts';
import { configOver, startGateway } from '../gateway.ts';
import { callTool, openSession, toolNames } from '../mcp.ts';
import type { Child } from '../processes.ts';
import { loadInTurn, ratioOf, type Contender, type Series } from '../slices.ts';
import { TEXT, toolCallPlan } from '../tool-call-plan.ts';
import { atLeast, type Bench, type RateRow, type Report, type Workload } from '../workload.ts';

const BACKENDS = 3;
const TOOLS = 10;
const FLOOR = 0.85;

interface Started {
  readonly name: string;
  readonly child: Child;
  readonly port: number;
  readonly url: string;
  readonly names: readonly string[];
}

/** Starts a gateway, with an audit log if `audited`, and calls every tool once. */
async function startOver(bench: Bench, name: string, { backends }: BackendSet, audited: boolean): Promise<Started> {
  const file = join(bench.folder, `gateway-${name}.json`);
  const audit = { audit_config: { logFile: join(bench.folder, 'audit.log') } };
  writeFileSync(file, JSON.stringify({ ...configOver(backends), ...(audited && audit) }), { mode: 0o600 });
  const { child, port } = await startGateway(bench.root, file);
  const url = `http://127.0.0.1:${String(port)}/mcp`;
  const session = await openSession(url);
  const names = await toolNames(url, session);
  if (names.length !== BACKENDS * TOOLS) throw new Error(`${name}: tools/list has ${String(names.length)} tools`);
  for (const tool of names) await callTool(url, tool, TEXT, session);
  return { name, child, port, url, names: names.toSorted((a, b) => toolOf(a).localeCompare(toolOf(b))) };
}

/** Returns the name without the prefix of its backend. */
const toolOf = (name: string): string => name.slice(name.indexOf('_'));

async function toContender(started: Started, connections: number): Promise<Contender> {
  return { name: started.name, pid: started.child.pid, plan: await toolCallPlan(started, started.names, connections) };
}

function toRow(connections: number, server: string, measured: Series, plain: Series | undefined): RateRow {
  const ratio = server === 'audited' && plain ? ratioOf(measured, plain) : null;
  const goal = ratio === null ? null : atLeast(ratio, FLOOR, 'of W1');
  const variant = `${String(connections)} connection${connections === 1 ? '' : 's'}`;
  return { workload: 'W11 audit log', variant, server, ratio, goal, ...measured };
}

async function run(bench: Bench): Promise<Report> {
  const { rounds, seconds, targets } = bench.options;
  if (!targets.includes('gateway'))
    return { rates: [], figures: [], notes: ['W11 was left out: a proxy has no audit log.'] };
  const set = await startBackends(BACKENDS, TOOLS);
  const servers = [await startOver(bench, 'audited', set, true), await startOver(bench, 'plain', set, false)];
  const rates: RateRow[] = [];
  for (const connections of bench.options.connections) {
    const contenders = await Promise.all(servers.map((server) => toContender(server, connections)));
    const measured = await loadInTurn(bench.engine, contenders, { connections, rounds, seconds });
    const rows = [...measured].map(([name, value]) => toRow(connections, name, value, measured.get('plain')));
    bench.log(rows.map(({ server, perSecond }) => `${server} ${perSecond.toFixed(0)}/s`).join(', '));
    rates.push(...rows);
  }
  return {
    rates,
    figures: [],
    notes: ['W11: the calls of W1 with an audit log in a file, compared with the same gateway without one.'],
  };
}

export const auditedCalls: Workload = { id: 'W11', title: 'tools/call with an audit log in a file', run };
