import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from './free-port.ts';
import { eventually } from './poll.ts';
import type { Scope } from './scope.ts';

/** False on a machine without the Debian package redis-server; `make programs` then prints `not applicable`. */
export const hasRedis = spawnSync('redis-server', ['--version']).status === 0;

/** A `redis-server` process (Debian package redis-server) that writes nothing to disk. */
export interface RedisServer {
  readonly port: number;
  /** Runs `redis-cli` as the default user and returns its output. */
  cli(...command: readonly string[]): Promise<string>;
  /** Suspends the process: it stops answering, and its connections stay open. */
  pause(): void;
  resume(): void;
  /** Kills the process. */
  kill(): Promise<void>;
}

export interface RedisOptions {
  readonly port?: number;
  /** Address to listen on; an address that pods reach in cluster tests. */
  readonly host?: string;
  /** Lines of redis.conf. */
  readonly config?: readonly string[];
  readonly sentinel?: boolean;
  /** PEM files. The server then speaks TLS only. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca: string };
}

/** Starts a server that runs until the scope ends. */
export async function startRedis(scope: Scope, options: RedisOptions = {}): Promise<RedisServer> {
  const { config = [], host = '127.0.0.1', sentinel = false, tls, port = await freePort() } = options;
  const folder = await mkdtemp(join(tmpdir(), 'vmcp-redis-'));
  scope.defer(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'redis.conf');
  await writeFile(
    file,
    [...listening(host, port, tls), ...(sentinel ? [] : NO_DISK), `dir ${folder}`, ...config, ''].join('\n'),
  );
  const child = spawn('redis-server', [file, ...(sentinel ? ['--sentinel'] : [])], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.on('error', (error) => (output += error.message));
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (output += data.toString()));
  const kill = async (): Promise<void> => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  scope.defer(kill);
  const flags = ['-h', host, '-p', String(port), ...(tls ? ['--tls', '--cacert', tls.ca] : [])];
  const cli = async (...command: readonly string[]): Promise<string> =>
    (await promisify(execFile)('redis-cli', [...flags, ...command])).stdout.trim();
  const state = await eventually('redis-server answers', async () => {
    if (child.pid === undefined || child.exitCode !== null) return 'ended';
    return /PONG|NOAUTH|NOPERM/u.test(await cli('PING')) && 'answers';
  });
  if (state === 'ended') {
    // another process has taken the port in the meantime
    if (options.port === undefined && output.includes('Address already in use')) return startRedis(scope, options);
    throw new Error(`redis-server ended: ${output}`);
  }
  return { port, cli, kill, pause: () => void child.kill('SIGSTOP'), resume: () => void child.kill('SIGCONT') };
}

const NO_DISK = ['save ""', 'appendonly no'];

function listening(host: string, port: number, tls: RedisOptions['tls']): string[] {
  const common = [`bind ${host}`, 'protected-mode no', 'daemonize no'];
  if (!tls) return [`port ${String(port)}`, ...common];
  const files = [`tls-cert-file ${tls.cert}`, `tls-key-file ${tls.key}`, `tls-ca-cert-file ${tls.ca}`];
  return ['port 0', `tls-port ${String(port)}`, ...files, 'tls-auth-clients no', ...common];
}

/** A master with two replicas and the three sentinels that watch them. */
export interface SentinelTrio {
  readonly masterName: string;
  readonly servers: readonly RedisServer[];
  readonly sentinels: readonly RedisServer[];
  /** Returns the server that the sentinels report as master. */
  master(): Promise<RedisServer>;
}

/** Starts the six processes, which run until the scope ends. */
export async function startSentinelTrio(scope: Scope, host = '127.0.0.1'): Promise<SentinelTrio> {
  const masterName = 'sessions';
  const first = await startRedis(scope, { host });
  const replicas = await Promise.all(
    [1, 2].map(() => startRedis(scope, { host, config: [`replicaof ${host} ${String(first.port)}`] })),
  );
  const watch = [
    `sentinel monitor ${masterName} ${host} ${String(first.port)} 2`,
    `sentinel down-after-milliseconds ${masterName} 1000`,
    `sentinel failover-timeout ${masterName} 4000`,
  ];
  const sentinels = await Promise.all([1, 2, 3].map(() => startRedis(scope, { host, sentinel: true, config: watch })));
  const servers = [first, ...replicas];
  for (const sentinel of sentinels) {
    await eventually('a sentinel knows the replicas and the other sentinels', async () => {
      const facts = await sentinel.cli('SENTINEL', 'MASTER', masterName);
      return /num-slaves\n2\n/u.test(facts) && /num-other-sentinels\n2\n/u.test(facts);
    });
  }
  await eventually('the replicas follow', async () =>
    /connected_slaves:2/u.test(await first.cli('INFO', 'replication')),
  );
  const master = async (): Promise<RedisServer> => {
    for (const sentinel of sentinels) {
      const [, port] = (await sentinel.cli('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', masterName)).split('\n');
      const server = servers.find((candidate) => String(candidate.port) === port);
      if (server) return server;
    }
    throw new Error('the sentinels name none of the servers');
  };
  return { masterName, servers, sentinels, master };
}

/** Starts a cluster of three members without replicas. `lines` of redis.conf apply to each member. */
export async function startRedisCluster(scope: Scope, lines: readonly string[] = []): Promise<readonly RedisServer[]> {
  const config = [...lines, 'cluster-enabled yes', 'cluster-node-timeout 2000', 'cluster-require-full-coverage no'];
  const servers = await Promise.all(
    [1, 2, 3].map(async () => {
      // The members connect to each other on a second port.
      const port = await freePort(2);
      return startRedis(scope, { port, config: [...config, `cluster-port ${String(port + 1)}`] });
    }),
  );
  const [first] = servers;
  const addresses = servers.map(({ port }) => `127.0.0.1:${String(port)}`);
  await first?.cli('--cluster', 'create', ...addresses, '--cluster-yes');
  for (const server of servers) {
    await eventually('the cluster is complete', async () => {
      const facts = await server.cli('CLUSTER', 'INFO');
      return facts.includes('cluster_state:ok') && facts.includes('cluster_known_nodes:3');
    });
  }
  return servers;
}
