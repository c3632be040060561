import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startRedis, type RedisServer } from '../../harness/redis.ts';
import { startBackends, type BackendSet } from '../contenders.ts';
import { configOver, startGateway } from '../gateway.ts';
import { openSession, toolNames } from '../mcp.ts';
import { startScript } from '../processes.ts';
import { loadInTurn, ratioOf, type Contender, type Series } from '../slices.ts';
import { toolCallPlan } from '../tool-call-plan.ts';
import {
  atLeast,
  atMost,
  type Bench,
  type FigureRow,
  type Goal,
  type RateRow,
  type Report,
  type Workload,
} from '../workload.ts';

const BACKENDS = 3;
const TOOLS = 10;
const FLOOR = 0.85;
const COMMANDS_PER_CALL = 1;
const SESSIONS = 10_000;
const KB_PER_SESSION = 10;
const OPENING_SECONDS = 180;

interface Started {
  readonly name: 'memory' | 'redis';
  readonly pid: number;
  readonly port: number;
  readonly url: string;
  readonly names: readonly string[];
}

async function startContender(
  bench: Bench,
  name: Started['name'],
  set: BackendSet,
  redisPort: number,
): Promise<Started> {
  const file = join(bench.folder, `sessions-in-${name}.json`);
  const shared = { scaling_config: { session_kvstore: { address: `127.0.0.1:${String(redisPort)}` } } };
  writeFileSync(file, JSON.stringify({ ...configOver(set.backends), ...(name === 'redis' && shared) }), {
    mode: 0o600,
  });
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

function toRow(connections: number, name: string, measured: Series, plain: Series | undefined): RateRow {
  const ratio = name === 'memory' || !plain ? null : ratioOf(measured, plain);
  const variant = `${String(connections)} connection${connections === 1 ? '' : 's'}`;
  const goal = ratio === null ? null : atLeast(ratio, FLOOR, 'of W1');
  return { workload: 'W16 shared sessions', variant, server: `gateway, ${name}`, ratio, goal, ...measured };
}

const toFigure = (figure: string, unit: string, value: number, goal: Goal): FigureRow => ({
  workload: 'W16 shared sessions',
  figure,
  unit,
  values: [value],
  median: value,
  goal,
});

const infoNumber = async (redis: RedisServer, section: string, name: string): Promise<number> =>
  Number(new RegExp(`^${name}:(\\d+)`, 'mu').exec(await redis.cli('INFO', section))?.[1]);

/** Opens idle sessions with a GET stream each, and returns the kilobytes of each in Redis. */
async function idleKilobytes(redis: RedisServer, { url }: Started): Promise<number> {
  const before = await infoNumber(redis, 'memory', 'used_memory');
  const { line } = await startScript('load/idle.ts', ['--url', url, '--count', String(SESSIONS)], OPENING_SECONDS);
  const { closed } = line as { closed: number };
  if (closed > 0) throw new Error(`${String(closed)} of ${String(SESSIONS)} idle streams were closed by the gateway`);
  return ((await infoNumber(redis, 'memory', 'used_memory')) - before) / 1_024 / SESSIONS;
}

async function run(bench: Bench): Promise<Report> {
  const { rounds, seconds, connections: counts } = bench.options;
  const stops: (() => unknown)[] = [];
  const rates: RateRow[] = [];
  try {
    const redis = await startRedis({ defer: (stop) => void stops.push(stop) });
    const set = await startBackends(BACKENDS, TOOLS);
    const servers = [
      await startContender(bench, 'memory', set, redis.port),
      await startContender(bench, 'redis', set, redis.port),
    ];
    const commandsBefore = await infoNumber(redis, 'stats', 'total_commands_processed');
    let calls = 0;
    for (const connections of counts) {
      const contenders = await Promise.all(servers.map((server) => toContender(server, connections)));
      const measured = await loadInTurn(bench.engine, contenders, { connections, rounds, seconds });
      const rows = servers.flatMap(({ name }) => {
        const series = measured.get(name);
        return series ? [toRow(connections, name, series, measured.get('memory'))] : [];
      });
      calls += (measured.get('redis')?.perSecond ?? 0) * rounds * seconds;
      bench.log(rows.map(({ server, perSecond }) => `${server} ${perSecond.toFixed(0)}/s`).join(', '));
      rates.push(...rows);
    }
    const commands = ((await infoNumber(redis, 'stats', 'total_commands_processed')) - commandsBefore) / calls;
    const [, shared] = servers;
    const kilobytes = shared ? await idleKilobytes(redis, shared) : NaN;
    return {
      rates,
      figures: [
        toFigure('commands of Redis for each call', '', commands, atMost(commands, COMMANDS_PER_CALL, '')),
        toFigure(
          `Redis memory of each of ${String(SESSIONS)} idle sessions`,
          'KB',
          kilobytes,
          atMost(kilobytes, KB_PER_SESSION, 'KB'),
        ),
      ],
      notes: ['W16: ratio to W1 with sessions in memory, measured beside it.'],
    };
  } finally {
    for (const stop of stops.toReversed()) await stop();
  }
}

export const sharedSessions: Workload = {
  id: 'W16',
  title: 'tools/call with sessions in Redis, and idle sessions there',
  run,
};
