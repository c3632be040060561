import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { startBackends } from '../contenders.ts';
import { builtCli, startGateway, until, writeConfig } from '../gateway.ts';
import { openSession, toolNames } from '../mcp.ts';
import { freePorts, start, stop } from '../processes.ts';
import { median } from '../statistics.ts';
import { inTurn } from '../turns.ts';
import { atMost, type Bench, type FigureRow, type Report, type Workload } from '../workload.ts';

const READY_CEILING_S = 1;
const QUICKSTART = 'examples/quickstart';
const QUICKSTART_CEILING_S = 5;
const QUICKSTART_RUNS = 3;

function toFigure(figure: string, values: readonly number[], ceiling: number): FigureRow {
  const middle = median(values);
  return { workload: 'start', figure, unit: 's', values, median: middle, goal: atMost(middle, ceiling, 's') };
}

async function gatewayStarts(bench: Bench): Promise<FigureRow> {
  const { backends } = await startBackends(3, 10);
  const config = writeConfig(bench.folder, backends);
  const seconds: number[] = [];
  for (let round = 0; round < bench.options.rounds; round += 1) {
    const { child, readyMs } = await inTurn(() => startGateway(bench.root, config));
    seconds.push(readyMs / 1_000);
    await stop(child);
  }
  return toFigure('`vmcp gateway`, exec to /readyz 200', seconds, READY_CEILING_S);
}

/** Measures the seconds from exec of `vmcp up` to the end of the first tools/list with a tool. */
async function quickstart(bench: Bench, round: number): Promise<number> {
  const [port = 0, managementPort = 0] = await freePorts(2);
  const state = join(bench.folder, `state-${String(round)}`);
  const ports = ['--port', String(port), '--management-port', String(managementPort)];
  const child = start('vmcp up', [
    builtCli(bench.root),
    'up',
    join(bench.root, QUICKSTART),
    '--state',
    state,
    ...ports,
  ]);
  const url = `http://127.0.0.1:${String(port)}/mcp`;
  await until(child, async () => (await toolNames(url, await openSession(url))).length > 0);
  const seconds = (performance.now() - child.startedAtMs) / 1_000;
  await stop(child);
  return seconds;
}

async function run(bench: Bench): Promise<Report> {
  if (!bench.options.targets.includes('gateway')) {
    return { rates: [], figures: [], notes: ['start was left out: it is about the gateway alone.'] };
  }
  const figures = [await gatewayStarts(bench)];
  if (!existsSync(join(bench.root, QUICKSTART))) {
    return { rates: [], figures, notes: [`${QUICKSTART} does not exist: its start was left out.`] };
  }
  const seconds: number[] = [];
  for (let round = 0; round < QUICKSTART_RUNS; round += 1) seconds.push(await inTurn(() => quickstart(bench, round)));
  figures.push(toFigure(`\`vmcp up ${QUICKSTART}\`, exec to first tools/list`, seconds, QUICKSTART_CEILING_S));
  return { rates: [], figures, notes: [] };
}

export const startup: Workload = { id: 'START', title: 'start', run };
