import { constants, setPriority } from 'node:os';
import { startBackends, startTarget, type BackendSet } from '../contenders.ts';
import { openSession, toolNames } from '../mcp.ts';
import { startScript, stop, type Child } from '../processes.ts';
import { measure, measureInTurn, type Series } from '../slices.ts';
import { toolCallPlan } from '../tool-call-plan.ts';
import type { Bench, RateRow, Report, Workload } from '../workload.ts';

const HEALTHY = 3;
const TOOLS = 10;
const CONNECTIONS = 32;
/** Calls in flight of each kind: several replies of 100 MiB at once would measure the memory of the machine. */
const FAULTY = { hang: 4, 'slow-loris': 4, large: 1, garbage: 1 };
type Fault = keyof typeof FAULTY;
const FAULTS = Object.keys(FAULTY) as Fault[];

/** Longest duration of the side load, in case the benchmark does not stop it. */
const SIDE_LOAD_SECONDS = 120;

/** Starts the side load; resolves when every misbehaving tool is being called. */
async function startFaulty(url: string, tools: readonly string[]): Promise<Child> {
  const inFlight = (name: string): number => FAULTY[FAULTS.find((fault) => name.startsWith(fault)) ?? 'hang'];
  const flags = tools.flatMap((name) => ['--tool', `${String(inFlight(name))}:${name}`]);
  const { child } = await startScript('load/faulty.ts', [
    '--url',
    url,
    '--seconds',
    String(SIDE_LOAD_SECONDS),
    ...flags,
  ]);
  return child;
}

/** Starts misbehaving backends at low priority, so that they do not take CPU from the load generators. */
async function startMisbehaving(mode: Fault): Promise<BackendSet> {
  const set = await startBackends(1, 1, { name: mode, mode });
  setPriority(set.child.pid, constants.priority.PRIORITY_LOW);
  return set;
}

function toRow(variant: string, series: Series, alone: Series | undefined): RateRow {
  const row = { workload: 'W7 healthy calls', variant, server: 'gateway', ratio: null, goal: null, ...series };
  if (!alone || alone === series) return row;
  const ceiling = 1.5 * alone.p99Ms + 2;
  return { ...row, goal: { text: `p99 <= ${ceiling.toFixed(1)} ms`, met: series.p99Ms <= ceiling } };
}

async function run(bench: Bench): Promise<Report> {
  const { rounds, seconds, targets } = bench.options;
  const notes = [
    'W7: beside = while one backend hangs, one dribbles, one sends 100 MiB and one sends garbage, called all the time.',
  ];
  if (!targets.includes('gateway'))
    return { rates: [], figures: [], notes: ['W7 was left out: it is about the gateway.'] };
  const sets = [await startBackends(HEALTHY, TOOLS)];
  for (const mode of FAULTS) sets.push(await startMisbehaving(mode));
  const [healthy] = sets;
  if (!healthy) throw new Error('no backends');
  const gateway = await startTarget(bench, 'gateway', {
    ...healthy,
    backends: sets.flatMap(({ backends }) => backends),
  });
  const names = await toolNames(gateway.url, await openSession(gateway.url));
  const good = names.filter((name) => name.startsWith('bench-'));
  const bad = names.filter((name) => !name.startsWith('bench-'));
  if (bad.length !== FAULTS.length) throw new Error(`tools of misbehaving backends: ${bad.join(', ')}`);
  const plan = await toolCallPlan(gateway, good, CONNECTIONS, { warm: good.length });
  const slice = async ({ name }: { name: string }) => {
    const side = name === 'beside' ? await startFaulty(gateway.url, bad) : undefined;
    const measured = await measure(gateway.child.pid, `W7 ${name}`, () => bench.engine.run(plan, CONNECTIONS, seconds));
    if (side) await stop(side);
    return measured;
  };
  const series = await measureInTurn([{ name: 'alone' }, { name: 'beside' }], rounds, slice);
  const rates = [...series].map(([name, each]) => toRow(name, each, series.get('alone')));
  return { rates, figures: [], notes };
}

export const badNeighbours: Workload = { id: 'W7', title: 'healthy calls beside misbehaving backends', run };
