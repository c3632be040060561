import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import autocannon from 'autocannon';
import { builtCli, until } from '../gateway.ts';
import { freePorts, start, stop } from '../processes.ts';
import { median } from '../statistics.ts';
import { atLeast, atMost, type Bench, type FigureRow, type Report, type Workload } from '../workload.ts';

const WORKLOADS = 1_000;
const LIST_CEILING_MS = 50;
const LISTS = 20;
const FLOOR_PER_SECOND = 2_000;
const CONNECTIONS = 32;

/** Writes the records of stopped workloads, as the management API stores them. */
function writeRecords(state: string): void {
  const folder = join(state, 'workloads');
  mkdirSync(folder, { recursive: true });
  for (let index = 0; index < WORKLOADS; index += 1) {
    const name = `server-${String(index)}`;
    const place = { host: '127.0.0.1', port: 20_000 + index, group: 'default', proxy_mode: 'streamable-http' };
    const run_config = {
      schema_version: 'v0.1.0',
      name,
      base_name: name,
      image: 'npx://server',
      transport: 'stdio',
      ...place,
    };
    const record = { run_config, desired: 'stopped', created_at: '2026-01-01T00:00:00.000Z' };
    writeFileSync(join(folder, `${name}.json`), JSON.stringify(record));
  }
}

async function listMs(api: string): Promise<number> {
  const startedAt = performance.now();
  const reply = await fetch(`${api}/workloads?all=true`);
  const { workloads } = (await reply.json()) as { workloads: unknown[] };
  if (workloads.length !== WORKLOADS) throw new Error(`the list has ${String(workloads.length)} workloads`);
  return performance.now() - startedAt;
}

async function readsPerSecond(api: string, seconds: number): Promise<number> {
  const result = await autocannon({
    url: `${api}/workloads/server-500`,
    connections: CONNECTIONS,
    duration: seconds,
    requests: [{ method: 'GET' }],
  });
  if (result.non2xx > 0 || result.errors > 0) throw new Error('reads of one workload failed');
  return result.requests.total / seconds;
}

async function run(bench: Bench): Promise<Report> {
  const [port = 0] = await freePorts(1);
  const state = join(bench.folder, 'management');
  writeRecords(state);
  const child = start('vmcp serve', [builtCli(bench.root), 'serve', '--port', String(port), '--state', state]);
  const api = `http://127.0.0.1:${String(port)}/api/v1beta`;
  await until(child, async () => (await fetch(`${api}/workloads/server-0`)).status === 200);
  const lists: number[] = [];
  for (let round = 0; round < LISTS; round += 1) lists.push(await listMs(api));
  const reads: number[] = [];
  for (let round = 0; round < bench.options.rounds; round += 1)
    reads.push(await readsPerSecond(api, bench.options.seconds));
  await stop(child);
  const figure = (text: string, unit: string, values: readonly number[], goal: FigureRow['goal']): FigureRow => ({
    ...{ workload: 'management API', figure: text, unit, values, goal },
    median: median(values),
  });
  const figures = [
    figure('GET /workloads with 1,000 workloads', 'ms', lists, atMost(median(lists), LIST_CEILING_MS, 'ms')),
    figure('GET /workloads/{name}, 32 connections', '/s', reads, atLeast(median(reads), FLOOR_PER_SECOND, '/s')),
  ];
  return { rates: [], figures, notes: [] };
}

export const managementApi: Workload = { id: 'MANAGEMENT', title: 'management API', run };
