import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startBackends, startTarget } from '../contenders.ts';
import type { Plan } from '../load/load.ts';
import { openSession, post } from '../mcp.ts';
import { startServer } from '../processes.ts';
import { loadInTurn, ratioOf, type Contender, type Series } from '../slices.ts';
import { atLeast, type Bench, type RateRow, type Report, type Workload } from '../workload.ts';

const BACKENDS = 10;
const TOOLS = 50;
const CONNECTIONS = 32;
const FLOOR = 0.5;
const BODY = { before: '{"jsonrpc":"2.0","id":', after: ',"method":"tools/list","params":{}}' };

/** Returns the reply of the gateway. @throws Error unless it is one page with every tool of every backend */
async function wholeList(url: string, session: string | undefined): Promise<string> {
  const { status, message } = await post(url, `${BODY.before}1${BODY.after}`, session);
  const { result } = JSON.parse(message) as { result?: { tools: unknown[]; nextCursor?: string } };
  const count = result?.tools.length ?? 0;
  if (status !== 200 || count !== BACKENDS * TOOLS || result?.nextCursor !== undefined) {
    throw new Error(`tools/list answered ${String(status)} with ${String(count)} tools: ${message.slice(0, 200)}`);
  }
  return message;
}

function toRow(server: string, measured: Series, yardstick: Series | undefined): RateRow {
  const ratio = server === 'gateway' && yardstick ? ratioOf(measured, yardstick) : null;
  return {
    workload: 'W4 tools/list',
    variant: `${String(CONNECTIONS)} connections`,
    server,
    ratio,
    goal: ratio === null ? null : atLeast(ratio, FLOOR, 'of a static reply'),
    ...measured,
  };
}

async function run(bench: Bench): Promise<Report> {
  const { rounds, seconds, targets } = bench.options;
  if (!targets.includes('gateway'))
    return { rates: [], figures: [], notes: ['W4 was left out: a bare proxy has no list of its own.'] };
  const set = await startBackends(BACKENDS, TOOLS);
  const gateway = await startTarget(bench, 'gateway', set);
  const session = await openSession(gateway.url);
  const list = await wholeList(gateway.url, session);
  const bodyFile = join(bench.folder, 'tools-list.json');
  writeFileSync(bodyFile, list);
  const { child, ports } = await startServer('servers/static-list.ts', ['--body', bodyFile]);
  const plan = (port: number): Plan => ({
    port,
    sessions: session === undefined ? [] : [session],
    bodies: [BODY],
    minBytes: Buffer.byteLength(list),
  });
  const contenders: Contender[] = [
    { name: 'gateway', pid: gateway.child.pid, plan: plan(gateway.port) },
    { name: 'static reply', pid: child.pid, plan: plan(ports[0] ?? 0) },
  ];
  const measured = await loadInTurn(bench.engine, contenders, { connections: CONNECTIONS, rounds, seconds });
  await wholeList(gateway.url, session);
  const kilobytes = Math.round(Buffer.byteLength(list) / 1_000);
  return {
    rates: [...measured].map(([name, value]) => toRow(name, value, measured.get('static reply'))),
    figures: [],
    notes: [
      `W4: ${String(BACKENDS * TOOLS)} tools of ${String(BACKENDS)} backends in one reply of ${String(kilobytes)} kB.`,
    ],
  };
}

export const toolList: Workload = {
  id: 'W4',
  title: `tools/list, ${String(BACKENDS)} backends x ${String(TOOLS)} tools`,
  run,
};
