import { startBackends, startTarget, type Server } from '../contenders.ts';
import { openSession, toolNames } from '../mcp.ts';
import type { Body, Plan } from '../load/load.ts';
import { loadInTurn, ratioOf, type Contender, type Series } from '../slices.ts';
import { median, ratiosByRound } from '../statistics.ts';
import { TEXT, toolCallPlan } from '../tool-call-plan.ts';
import { atLeast, type Bench, type RateRow, type Report, type Workload } from '../workload.ts';

const BACKENDS = 3;
const TOOLS = 10;
const REVISION = '2026-07-28';
const META = {
  'io.modelcontextprotocol/protocolVersion': REVISION,
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

const WITH = 'with sessions';
const WITHOUT = 'without';

const withoutSession = (name: string): Body => ({
  before: '{"jsonrpc":"2.0","id":',
  after: `,"method":"tools/call","params":${JSON.stringify({ name, arguments: { text: TEXT }, _meta: META })}}`,
  headers: { 'mcp-protocol-version': REVISION, 'mcp-method': 'tools/call', 'mcp-name': name },
});

/** Returns the calls of W1 at a server, and the same calls without a session. */
async function contendersOf({ name, port, url, child }: Server, connections: number): Promise<Contender[]> {
  const names = await toolNames(url, await openSession(url));
  const plan = await toolCallPlan({ port, url }, names, connections, { warm: names.length });
  const bodies = names.map(withoutSession);
  const without: Plan = { port, sessions: [], bodies, mustContain: '"resultType"' };
  return [
    { name: `${name}, ${WITH}`, pid: child.pid, plan },
    { name: `${name}, ${WITHOUT}`, pid: child.pid, plan: without },
  ];
}

/** Rates of one number of connections. */
class Rates {
  readonly #measured: ReadonlyMap<string, Series>;
  readonly #variant: string;

  constructor(measured: ReadonlyMap<string, Series>, connections: number) {
    this.#measured = measured;
    this.#variant = `${String(connections)} connection${connections === 1 ? '' : 's'}`;
  }

  rows(): RateRow[] {
    return [...this.#measured].map(([server, series]) => {
      const [name, kind = ''] = server.split(', ');
      const yardstick = name === 'gateway' ? this.#of('bare-proxy', kind) : undefined;
      const ratio = yardstick ? ratioOf(series, yardstick) : null;
      const goal = kind === WITHOUT && ratio !== null ? this.#goal() : null;
      return { workload: 'W13 calls of 2026-07-28', variant: this.#variant, server, ratio, goal, ...series };
    });
  }

  /** Says what the rate without sessions is of that with sessions, at each server. */
  note(): string {
    const shares = ['gateway', 'bare-proxy'].flatMap((name) => {
      const [own, base] = [this.#of(name, WITHOUT), this.#of(name, WITH)];
      return own && base ? [`${ratioOf(own, base).toFixed(2)} at the ${name}`] : [];
    });
    return `W13: rate of the calls without sessions, divided by those with sessions, ${this.#variant}: ${shares.join(', ')}.`;
  }

  #of(name: string, kind: string): Series | undefined {
    return this.#measured.get(`${name}, ${kind}`);
  }

  /** Compares the ratios to the bare proxy of both kinds of calls, round by round. */
  #goal() {
    const byRound = (kind: string): number[] =>
      ratiosByRound(
        this.#of('gateway', kind)?.perSecondByRound ?? [],
        this.#of('bare-proxy', kind)?.perSecondByRound ?? [],
      );
    return atLeast(median(ratiosByRound(byRound(WITHOUT), byRound(WITH))), 1, 'x the ratio with sessions');
  }
}

async function run(bench: Bench): Promise<Report> {
  const { rounds, seconds, targets } = bench.options;
  if (!targets.includes('gateway'))
    return { rates: [], figures: [], notes: ['W13 was left out: it is about the gateway.'] };
  const set = await startBackends(BACKENDS, TOOLS);
  // one gateway for both kinds: two of one build differ by a tenth, as V8 optimizes each in its own way
  const servers = await Promise.all(targets.map((target) => startTarget(bench, target, set)));
  const rates: RateRow[] = [];
  const notes = [
    'W13: the ratio is that to the bare proxy with the same requests. A call without a session has two more headers and 180 bytes that describe it, and a reply with 120 more bytes. They cost the bare proxy, too.',
  ];
  for (const connections of bench.options.connections) {
    const contenders = await Promise.all(servers.map((server) => contendersOf(server, connections)));
    const measured = await loadInTurn(bench.engine, contenders.flat(), { connections, rounds, seconds });
    const found = new Rates(measured, connections);
    rates.push(...found.rows());
    notes.push(found.note());
  }
  return { rates, figures: [], notes };
}

/** W13: the calls of W1, each without a session. */
export const callsWithoutSessions: Workload = { id: 'W13', title: 'tools/call without sessions', run };
