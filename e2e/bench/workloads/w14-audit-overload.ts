import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { eventually } from '../../harness/poll.ts';
import { startBackends, type BackendSet } from '../contenders.ts';
import { configOver, startGateway, type RunningGateway } from '../gateway.ts';
import { openSession, toolNames } from '../mcp.ts';
import { loadInTurn, ratioOf, type Contender, type Series } from '../slices.ts';
import { toolCallPlan } from '../tool-call-plan.ts';
import { atLeast, atMost, type Bench, type FigureRow, type RateRow, type Report, type Workload } from '../workload.ts';

const BACKENDS = 3;
const TOOLS = 10;
const CONNECTIONS = 32;
const CEILING = 1.25;
const OVERLOAD = 10;
/** About 130 events a second. */
const READER_BYTES_PER_TICK = 8_192;
const TICK_MS = 100;

/** Reader of an audit log on standard output: slow until `release`. Counts the events of tool calls. */
class SlowReader {
  calls = 0;
  readonly #stream: Readable;
  readonly #timer: NodeJS.Timeout;
  #rest = '';

  constructor(stream: Readable) {
    this.#stream = stream;
    stream.pause();
    stream.read(0);
    this.#timer = setInterval(() => {
      const size = Math.min(READER_BYTES_PER_TICK, stream.readableLength);
      this.#take((size > 0 ? (stream.read(size) as Buffer | null) : null) ?? undefined);
    }, TICK_MS);
  }

  /** Reads everything from now on. */
  release(): void {
    clearInterval(this.#timer);
    this.#stream.resume();
    this.#stream.on('data', (bytes: Buffer) => {
      this.#take(bytes);
    });
  }

  #take(bytes: Buffer | undefined): void {
    if (!bytes) return;
    const lines = (this.#rest + bytes.toString('latin1')).split('\n');
    this.#rest = lines.pop() ?? '';
    this.calls += lines.filter((line) => line.includes('"type":"mcp_tool_call"')).length;
  }
}

/** Returns the sum of the series of a counter that contain `label`. */
async function counted({ managementPort }: RunningGateway, name: string, label: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${String(managementPort)}/metrics`)).text();
  const lines = text.split('\n').filter((line) => line.startsWith(`${name}{`) && line.includes(label));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

const droppedBy = (gateway: RunningGateway): Promise<number> => counted(gateway, 'vmcp_audit_events_dropped_total', '');
const callsOf = (gateway: RunningGateway): Promise<number> =>
  counted(gateway, 'mcp_server_operation_duration_seconds_count', 'mcp_method_name="tools/call"');

async function startOver(bench: Bench, name: string, { backends }: BackendSet, audit: object): Promise<RunningGateway> {
  const file = join(bench.folder, `gateway-w14-${name}.json`);
  writeFileSync(file, JSON.stringify({ ...configOver(backends), audit_config: audit }), { mode: 0o600 });
  return startGateway(bench.root, file);
}

async function toContender(name: string, gateway: RunningGateway): Promise<Contender> {
  const url = `http://127.0.0.1:${String(gateway.port)}/mcp`;
  const names = await toolNames(url, await openSession(url));
  const inTurn = names.toSorted((a, b) => a.slice(a.indexOf('_')).localeCompare(b.slice(b.indexOf('_'))));
  const plan = await toolCallPlan({ url, port: gateway.port }, inTurn, CONNECTIONS);
  return { name, pid: gateway.child.pid, plan };
}

function toRow(server: string, measured: Series, plain: Series | undefined): RateRow {
  const row = { workload: 'W14 audit overload', variant: `${String(CONNECTIONS)} connections`, server, ...measured };
  if (!plain || plain === measured) return { ...row, ratio: null, goal: null };
  const slower = measured.p99Ms / plain.p99Ms;
  const goal = atMost(Number(slower.toFixed(2)), CEILING, 'x p99');
  return { ...row, ratio: ratioOf(measured, plain), goal };
}

const figure = (what: string, unit: string, value: number, goal: FigureRow['goal']): FigureRow => ({
  ...{ workload: 'W14 audit overload', figure: what, unit, values: [value], median: value, goal },
});

async function run(bench: Bench): Promise<Report> {
  const { rounds, seconds, targets } = bench.options;
  if (!targets.includes('gateway'))
    return { rates: [], figures: [], notes: ['W14 was left out: a proxy has no audit log.'] };
  const set = await startBackends(BACKENDS, TOOLS);
  const plain = await startOver(bench, 'file', set, { logFile: join(bench.folder, 'audit.log') });
  const gateway = await startOver(bench, 'slow reader', set, {});
  const { stdout } = gateway.child.process;
  if (!stdout) throw new Error('the gateway has no standard output');
  const reader = new SlowReader(stdout); // before the first call
  const contender = await toContender('slow reader', gateway);
  while ((await droppedBy(gateway)) === 0) await bench.engine.run(contender.plan, CONNECTIONS, 1);
  const [callsBefore, readBefore] = [await callsOf(gateway), reader.calls];
  const load = { connections: CONNECTIONS, rounds, seconds };
  const measured = await loadInTurn(bench.engine, [await toContender('file', plain), contender], load);
  const overload = ((await callsOf(gateway)) - callsBefore) / Math.max(1, reader.calls - readBefore);
  reader.release();
  const missing = async (): Promise<number> => (await callsOf(gateway)) - (await droppedBy(gateway)) - reader.calls;
  await eventually('the queue is read', async () => (await missing()) <= 0, { timeoutMs: 10_000 }).catch(
    () => undefined,
  );
  const uncounted = await missing();
  return {
    rates: [...measured].map(([name, value]) => toRow(name, value, measured.get('file'))),
    figures: [
      figure('calls for each event that is read', '', overload, atLeast(overload, OVERLOAD, 'x')),
      figure('dropped', 'events', await droppedBy(gateway), null),
      figure('neither read nor counted as dropped', 'events', uncounted, { text: '0', met: uncounted === 0 }),
    ],
    notes: [
      'W14: the calls of W11 while the reader of the audit log takes less than a tenth of the events, and the queue is full.',
    ],
  };
}

export const overloadedAudit: Workload = { id: 'W14', title: 'tools/call while the audit log is overloaded', run };
