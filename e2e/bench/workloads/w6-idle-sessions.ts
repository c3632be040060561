import { startBackends, startTarget } from '../contenders.ts';
import { callTool, openSession, toolNames } from '../mcp.ts';
import { startScript } from '../processes.ts';
import { usage } from '../usage.ts';
import { atMost, type Bench, type FigureRow, type Goal, type Report, type Workload } from '../workload.ts';

const SESSIONS = 10_000;
const KB_PER_SESSION = 40;
const RESIDENT_MB = 500;
const OPENING_SECONDS = 120;

function toFigure(figure: string, unit: string, value: number, goal: Goal): FigureRow {
  return { workload: 'W6 idle sessions', figure, unit, values: [value], median: value, goal };
}

async function run(bench: Bench): Promise<Report> {
  const left = (why: string): Report => ({ rates: [], figures: [], notes: [`W6 was left out: ${why}.`] });
  if (!bench.options.targets.includes('gateway')) return left('it is about the sessions of the gateway');
  const gateway = await startTarget(bench, 'gateway', await startBackends(3, 10));
  const { pid } = gateway.child;
  const session = await openSession(gateway.url);
  const [tool = ''] = await toolNames(gateway.url, session);
  const before = usage(pid);
  if (before === null) return left('this machine has no /proc to read the memory of a process from');
  const { line } = await startScript(
    'load/idle.ts',
    ['--url', gateway.url, '--count', String(SESSIONS)],
    OPENING_SECONDS,
  );
  const { closed } = line as { closed: number };
  if (closed > 0) throw new Error(`${String(closed)} of ${String(SESSIONS)} idle streams were closed by the gateway`);
  const rssMb = usage(pid)?.rssMb ?? NaN;
  await callTool(gateway.url, tool, 'still served', session);
  const kbEach = ((rssMb - before.rssMb) * 1_024) / SESSIONS;
  return {
    rates: [],
    figures: [
      toFigure(`memory of each of ${String(SESSIONS)}`, 'KB', kbEach, atMost(kbEach, KB_PER_SESSION, 'KB')),
      toFigure('resident in all', 'MB', rssMb, atMost(rssMb, RESIDENT_MB, 'MB')),
    ],
    notes: [
      'W6: sessions are initialized, hold a GET stream and have opened no backend; memory is read after 5 s of rest.',
    ],
  };
}

export const idleSessions: Workload = { id: 'W6', title: `${String(SESSIONS)} idle sessions`, run };
