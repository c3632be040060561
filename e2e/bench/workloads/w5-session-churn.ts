import { startBackends, startTarget, type Server } from '../contenders.ts';
import type { Load } from '../load/load.ts';
import { openSession, toolNames } from '../mcp.ts';
import { startScript } from '../processes.ts';
import { measure, measureInTurn, ratioOf, type Series } from '../slices.ts';
import { atLeast, type Bench, type RateRow, type Report, type Workload } from '../workload.ts';

const BACKENDS = 3;
const TOOLS = 10;
const CALLS = 5;
const WORKERS = 16;
const SESSIONS_PER_SECOND = 300;

async function churn({ url }: Server, tools: readonly string[], seconds: number): Promise<Load> {
  const flags = ['--url', url, '--workers', String(WORKERS), '--seconds', String(seconds)];
  const argv = [...flags, ...tools.flatMap((name) => ['--tool', name])];
  const { line } = await startScript('load/sessions.ts', argv, seconds);
  return line as Load;
}

/** Returns five names from the whole list, so that every backend is called. */
async function spreadNames({ url }: Server): Promise<string[]> {
  const names = await toolNames(url, await openSession(url));
  return Array.from({ length: CALLS }, (_, index) => names[Math.floor((index * names.length) / CALLS)] ?? '');
}

function toRow(server: string, measured: Series, yardstick: Series | undefined): RateRow {
  const ours = server === 'gateway';
  return {
    workload: 'W5 sessions',
    variant: `${String(WORKERS)} clients`,
    server,
    ratio: ours && yardstick ? ratioOf(measured, yardstick) : null,
    goal: ours ? atLeast(measured.perSecond, SESSIONS_PER_SECOND, 'sessions/s') : null,
    ...measured,
  };
}

async function run(bench: Bench): Promise<Report> {
  const { rounds, seconds, targets } = bench.options;
  const set = await startBackends(BACKENDS, TOOLS);
  const contenders = [];
  for (const target of targets) {
    const server = await startTarget(bench, target, set);
    contenders.push({ name: server.name, server, tools: await spreadNames(server) });
  }
  const measured = await measureInTurn(contenders, rounds, ({ name, server, tools }) =>
    measure(server.child.pid, `W5 on ${name}`, () => churn(server, tools, seconds)),
  );
  return {
    rates: [...measured].map(([name, series]) => toRow(name, series, measured.get('bare-proxy'))),
    figures: [],
    notes: [
      'W5: a unit is initialize, initialized, tools/list, 5 tools/call, DELETE; latencies are of the whole unit.',
    ],
  };
}

export const sessionChurn: Workload = { id: 'W5', title: 'session churn', run };
