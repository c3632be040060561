import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { GatewayConfig } from '../../../gateway/contract/gateway-config.ts';
import { startRedis } from '../../harness/redis.ts';
import { startBackends, type BackendSet } from '../contenders.ts';
import { configOver, startGateway } from '../gateway.ts';
import { openSession, toolNames } from '../mcp.ts';
import { loadInTurn, ratioOf, type Contender, type Series } from '../slices.ts';
import { toolCallPlan } from '../tool-call-plan.ts';
import { atLeast, type Bench, type RateRow, type Report, type Workload } from '../workload.ts';

const BACKENDS = 3;
const TOOLS = 10;

/** Places of the buckets, with the least share of the rate without limits. */
const FLOORS = { none: 1, memory: 0.95, redis: 0.8 } as const;
type Place = keyof typeof FLOORS;

/** A limit that no load reaches. */
const UNREACHED = { rate_limit_config: { shared: { maxTokens: 2_000_000_000, refillPeriod: '1s' } } };

const limitsIn: Readonly<Record<Place, (redisPort: number) => Partial<GatewayConfig>>> = {
  none: () => ({}),
  memory: () => UNREACHED,
  redis: (port) => ({
    ...UNREACHED,
    scaling_config: { session_kvstore: { address: `127.0.0.1:${String(port)}` } },
  }),
};

interface Started {
  readonly name: Place;
  readonly pid: number;
  readonly port: number;
  readonly url: string;
  readonly names: readonly string[];
}

async function startContender(bench: Bench, name: Place, set: BackendSet, redisPort: number): Promise<Started> {
  const file = join(bench.folder, `rate-limits-${name}.json`);
  writeFileSync(file, JSON.stringify({ ...configOver(set.backends), ...limitsIn[name](redisPort) }), { mode: 0o600 });
  const { child, port } = await startGateway(bench.root, file);
  const url = `http://127.0.0.1:${String(port)}/mcp`;
  const names = await toolNames(url, await openSession(url));
  if (names.length !== BACKENDS * TOOLS) throw new Error(`${name}: tools/list has ${String(names.length)} tools`);
  return { name, pid: child.pid, port, url, names };
}

const toContender = async (started: Started, connections: number): Promise<Contender> => ({
  name: started.name,
  pid: started.pid,
  plan: await toolCallPlan(started, started.names, connections),
});

function toRow(connections: number, place: Place, measured: Series, plain: Series | undefined): RateRow {
  const ratio = place === 'none' || !plain ? null : ratioOf(measured, plain);
  const variant = `${String(connections)} connection${connections === 1 ? '' : 's'}`;
  const goal = ratio === null ? null : atLeast(ratio, FLOORS[place], 'of W1');
  const server = place === 'none' ? 'gateway' : `gateway, ${place}`;
  return { workload: 'W10 rate limits', variant, server, ratio, goal, ...measured };
}

async function run(bench: Bench): Promise<Report> {
  const { rounds, seconds, connections: counts } = bench.options;
  const stops: (() => unknown)[] = [];
  const rates: RateRow[] = [];
  try {
    const redis = await startRedis({ defer: (stop) => void stops.push(stop) });
    const set = await startBackends(BACKENDS, TOOLS);
    const servers: Started[] = [];
    for (const name of ['none', 'memory', 'redis'] as const)
      servers.push(await startContender(bench, name, set, redis.port));
    for (const connections of counts) {
      const contenders = await Promise.all(servers.map((server) => toContender(server, connections)));
      const measured = await loadInTurn(bench.engine, contenders, { connections, rounds, seconds });
      const rows = servers.flatMap(({ name }) => {
        const series = measured.get(name);
        return series ? [toRow(connections, name, series, measured.get('none'))] : [];
      });
      bench.log(rows.map(({ server, perSecond }) => `${server} ${perSecond.toFixed(0)}/s`).join(', '));
      rates.push(...rows);
    }
    const isAsked = /cmdstat_evalsha/u.test(await redis.cli('INFO', 'commandstats'));
    if (!isAsked) throw new Error('no call has taken a token from Redis');
  } finally {
    for (const stop of stops.toReversed()) await stop();
  }
  const note = 'W10: ratio to W1 without limits, measured beside it. The limits are never reached.';
  return { rates, figures: [], notes: [note] };
}

export const rateLimits: Workload = {
  id: 'W10',
  title: 'tools/call with rate limits, in memory and in Redis',
  run,
};
