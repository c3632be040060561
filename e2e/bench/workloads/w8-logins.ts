import { spawnSync } from 'node:child_process';
import { request } from 'undici';
import { startRedis } from '../../harness/redis.ts';
import { startGateway } from '../gateway.ts';
import type { Load } from '../load/load.ts';
import { writeLoginConfig } from '../login-config.ts';
import { freePorts, startScript, startServer, type Child } from '../processes.ts';
import { measure, measureInTurn, type Series } from '../slices.ts';
import { usage } from '../usage.ts';
import { atLeast, type Bench, type RateRow, type Report, type Workload } from '../workload.ts';

const BROWSERS = 16;
const USERS = 32;
const REDIRECT = 'http://127.0.0.1:33418/callback';

/** A store of the server, with its target rate. */
const STORES = { memory: 300, redis: 250 };
type Store = keyof typeof STORES;

/** Consent of the browsers. */
type Asked = 'remembered' | 'asked';

interface LoginServer {
  readonly store: Store;
  readonly child: Child;
  readonly port: number;
  readonly client: string;
}

interface Contender extends LoginServer {
  readonly name: string;
  readonly asked: Asked;
}

/** Registers the client of the load, like an MCP client. */
async function register(port: number): Promise<string> {
  const reply = await request(`http://127.0.0.1:${String(port)}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: 'bench', redirect_uris: [REDIRECT] }),
  });
  const body = await reply.body.text();
  if (reply.statusCode !== 201) throw new Error(`registration answered ${String(reply.statusCode)}: ${body}`);
  return (JSON.parse(body) as { client_id: string }).client_id;
}

async function startLoginServer(
  bench: Bench,
  store: Store,
  { upstream, redis }: { readonly upstream: number; readonly redis?: number | undefined },
): Promise<LoginServer> {
  const [port = 0] = await freePorts(1);
  const file = writeLoginConfig(bench.folder, { name: `logins-${store}`, port, upstream, redis });
  const { child } = await startGateway(bench.root, file, port);
  return { store, child, port, client: await register(port) };
}

async function logins({ port, client, asked }: Contender, seconds: number): Promise<Load> {
  const resource = `http://127.0.0.1:${String(port)}/mcp`;
  const who = ['--port', String(port), '--client', client, '--redirect', REDIRECT, '--resource', resource];
  const much = ['--users', String(USERS), '--workers', String(BROWSERS), '--seconds', String(seconds)];
  const { line } = await startScript(
    'load/logins.ts',
    [...who, ...much, ...(asked === 'asked' ? ['--ask'] : [])],
    seconds,
  );
  return line as Load;
}

function toRow({ name, store, asked }: Contender, series: Series | undefined): RateRow[] {
  if (!series) return [];
  const goal = atLeast(series.perSecond, STORES[store], 'grants/s');
  const variant = `${String(BROWSERS)} browsers, approval ${asked}`;
  return [
    { workload: 'W8 logins', variant, server: `gateway, ${name.split(' ')[0] ?? ''}`, ratio: null, goal, ...series },
  ];
}

/** Measures the CPU time of the stub provider for each grant of the load, in ms. */
async function measured(
  contenders: readonly Contender[],
  stub: Child,
  { rounds, seconds }: Bench['options'],
): Promise<{ readonly series: ReadonlyMap<string, Series>; readonly stubMs: number | null }> {
  const before = usage(stub.pid);
  let grants = 0;
  const series = await measureInTurn(contenders, rounds, async (contender) =>
    measure(contender.child.pid, `W8 ${contender.name}`, async () => {
      const load = await logins(contender, seconds);
      grants += load.requests;
      return load;
    }),
  );
  const after = usage(stub.pid);
  return { series, stubMs: before && after ? ((after.cpuSeconds - before.cpuSeconds) / grants) * 1_000 : null };
}

async function run(bench: Bench): Promise<Report> {
  if (!bench.options.targets.includes('gateway')) {
    return { rates: [], figures: [], notes: ['W8 was left out: it is about the gateway alone.'] };
  }
  const stops: (() => unknown)[] = [];
  try {
    const stub = await startServer('servers/stub-provider.ts', []);
    const upstream = stub.ports[0] ?? 0;
    const servers = [await startLoginServer(bench, 'memory', { upstream })];
    const hasRedis = spawnSync('redis-server', ['--version'], { stdio: 'ignore' }).error === undefined;
    if (hasRedis) {
      const redis = await startRedis({ defer: (stop) => void stops.push(stop) });
      servers.push(await startLoginServer(bench, 'redis', { upstream, redis: redis.port }));
    }
    const contenders = servers.flatMap((server) =>
      (['remembered', 'asked'] as const).map((asked) => ({ ...server, asked, name: `${server.store} ${asked}` })),
    );
    const { series, stubMs } = await measured(contenders, stub.child, bench.options);
    const rates = contenders.flatMap((contender) => toRow(contender, series.get(contender.name)));
    bench.log(
      rates.map(({ server, variant, perSecond }) => `${server}, ${variant}: ${perSecond.toFixed(0)}/s`).join('; '),
    );
    return { rates, figures: [], notes: notesOf(stubMs, hasRedis) };
  } finally {
    for (const stop of stops.toReversed()) await stop();
  }
}

const notesOf = (stubMs: number | null, hasRedis: boolean): string[] => [
  'W8: a grant is authorize, consent, callback and token, of one registered client, with ES256 access and ID tokens; with approval asked, also the page and its form; limits are raised; latencies are of the whole grant.',
  `W8: the provider is a stub in another process that took ${stubMs === null ? 'an unknown time' : `${stubMs.toFixed(2)} ms`} of processor time for a grant; the rates include it, and its login page is not visited.`,
  ...(hasRedis ? [] : ['W8: redis-server is not installed: its half was left out.']),
];

export const codeGrants: Workload = { id: 'W8', title: 'logins at the embedded authorization server', run };
