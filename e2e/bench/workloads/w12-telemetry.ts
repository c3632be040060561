import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { startBackends, type BackendSet } from '../contenders.ts';
import { configOver, startGateway } from '../gateway.ts';
import { openSession, toolNames } from '../mcp.ts';
import { loadInTurn, ratioOf, type Series } from '../slices.ts';
import { toolCallPlan } from '../tool-call-plan.ts';
import { atLeast, type Bench, type RateRow, type Report, type Workload } from '../workload.ts';

const BACKENDS = 3;
const TOOLS = 10;
const FLOOR = 0.9;

/** Starts a collector that takes everything. */
async function startSink(): Promise<{
  readonly server: Server;
  readonly exports: () => number;
  readonly endpoint: string;
}> {
  let exports = 0;
  const server = createServer((req, res) => {
    exports += 1;
    req.resume().once('end', () => res.writeHead(200, { 'content-type': 'application/x-protobuf' }).end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { server, exports: () => exports, endpoint: `http://127.0.0.1:${String(port)}` };
}

async function startContender(bench: Bench, name: string, { backends }: BackendSet, telemetry?: object) {
  const file = join(bench.folder, `telemetry-${name}.json`);
  const config = { ...configOver(backends), ...(telemetry && { telemetry_config: telemetry }) };
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  const { child, port } = await startGateway(bench.root, file);
  const url = `http://127.0.0.1:${String(port)}/mcp`;
  const names = await toolNames(url, await openSession(url));
  if (names.length !== BACKENDS * TOOLS) throw new Error(`${name}: tools/list has ${String(names.length)} tools`);
  const toolOf = (tool: string): string => tool.slice(tool.indexOf('_'));
  return { name, pid: child.pid, url, port, names: names.toSorted((a, b) => toolOf(a).localeCompare(toolOf(b))) };
}

function toRow(connections: number, server: string, measured: Series, plain?: Series): RateRow {
  const ratio = server !== 'plain' && plain ? ratioOf(measured, plain) : null;
  const goal = ratio === null ? null : atLeast(ratio, FLOOR, 'of W1');
  const variant = `${String(connections)} connection${connections === 1 ? '' : 's'}`;
  return { workload: 'W12 telemetry', variant, server, ratio, goal, ...measured };
}

async function run(bench: Bench): Promise<Report> {
  const { rounds, seconds, targets } = bench.options;
  if (!targets.includes('gateway')) {
    return { rates: [], figures: [], notes: ['W12 was left out: a bare proxy exports nothing.'] };
  }
  const sink = await startSink();
  const rates: RateRow[] = [];
  try {
    const set = await startBackends(BACKENDS, TOOLS);
    const telemetry = { endpoint: sink.endpoint, samplingRate: '0.05' };
    const servers = [await startContender(bench, 'gateway', set, telemetry), await startContender(bench, 'plain', set)];
    for (const connections of bench.options.connections) {
      const contenders = await Promise.all(
        servers.map(async (server) => ({
          name: server.name,
          pid: server.pid,
          plan: await toolCallPlan(server, server.names, connections),
        })),
      );
      const measured = await loadInTurn(bench.engine, contenders, { connections, rounds, seconds });
      const rows = [...measured].map(([name, value]) => toRow(connections, name, value, measured.get('plain')));
      bench.log(rows.map(({ server, perSecond }) => `${server} ${perSecond.toFixed(0)}/s`).join(', '));
      rates.push(...rows);
    }
  } finally {
    sink.server.closeAllConnections();
    sink.server.close();
  }
  const note = `W12: ratio to W1 beside it without telemetry; ${String(sink.exports())} exports reached the collector.`;
  return { rates, figures: [], notes: [note] };
}

/** W1 with 5 % of the calls traced, and metrics sent to a collector. */
export const tracedCalls: Workload = { id: 'W12', title: 'tools/call with telemetry', run };
