import { startBackends, startTarget, type BackendSet, type Server } from '../contenders.ts';
import { callTool, openSession, toolNames } from '../mcp.ts';
import { loadInTurn, ratioOf, type Series } from '../slices.ts';
import { TEXT, toolCallPlan } from '../tool-call-plan.ts';
import { atLeast, type Bench, type RateRow, type Report, type Workload } from '../workload.ts';

const BACKENDS = 3;
const TOOLS = 10;
const FLOOR = 0.75;

/**
 * Returns the names to call, the backends in turn. Calls each name once: a call that reached another backend or tool
 * would make the rate meaningless.
 */
async function namesInTurn(server: Server, { backends }: BackendSet): Promise<string[]> {
  const session = await openSession(server.url);
  const names = await toolNames(server.url, session);
  if (server.name === 'bare-proxy') return names;
  const owned = new Map<string, string[]>(backends.map(({ name }) => [name, []]));
  for (const name of names) {
    const [backend = '', tool = '', ...text] = (await callTool(server.url, name, TEXT, session)).split(' ');
    if (name !== `${backend}_${tool}` || text.join(' ') !== TEXT) {
      throw new Error(`${name} was answered by ${backend} ${tool}`);
    }
    owned.get(backend)?.push(name);
  }
  if (names.length !== BACKENDS * TOOLS) throw new Error(`tools/list has ${String(names.length)} tools`);
  return Array.from({ length: TOOLS }, (_, index) => [...owned.values()].flatMap((mine) => mine[index] ?? [])).flat();
}

function toRow(connections: number, server: string, measured: Series, yardstick: Series | undefined): RateRow {
  const ratio = server === 'gateway' && yardstick ? ratioOf(measured, yardstick) : null;
  const goal = ratio === null ? null : atLeast(ratio, FLOOR, 'of the bare proxy');
  const variant = `${String(connections)} connection${connections === 1 ? '' : 's'}`;
  return { workload: 'W1 tools/call', variant, server, ratio, goal, ...measured };
}

async function run(bench: Bench): Promise<Report> {
  const { rounds, seconds, targets } = bench.options;
  const set = await startBackends(BACKENDS, TOOLS);
  const servers = await Promise.all(targets.map((target) => startTarget(bench, target, set)));
  const [first] = servers;
  if (!first) throw new Error('W1 needs a target');
  const names = await namesInTurn(servers.find(({ name }) => name === 'gateway') ?? first, set);
  const rates: RateRow[] = [];
  for (const connections of bench.options.connections) {
    const contenders = await Promise.all(
      servers.map(async (server) => ({
        name: server.name,
        pid: server.child.pid,
        plan: await toolCallPlan(server, names, connections),
      })),
    );
    const measured = await loadInTurn(bench.engine, contenders, { connections, rounds, seconds });
    const rows = [...measured].map(([name, value]) => toRow(connections, name, value, measured.get('bare-proxy')));
    bench.log(rows.map(({ server, perSecond }) => `${server} ${perSecond.toFixed(0)}/s`).join(', '));
    rates.push(...rows);
  }
  return { rates, figures: [], notes: [] };
}

export const toolCalls: Workload = { id: 'W1', title: 'tools/call over 3 backends, anonymous', run };
