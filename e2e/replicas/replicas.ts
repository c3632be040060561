import { configOver, type GatewayParts } from '../harness/authenticated-gateway.ts';
import { freePort } from '../harness/free-port.ts';
import { startHaproxy } from '../harness/proxies/haproxy.ts';
import { raw } from '../harness/clients/raw.ts';
import { eventually } from '../harness/poll.ts';
import type { RedisServer } from '../harness/redis.ts';
import type { Scope } from '../harness/scope.ts';
import { startGateway, type Vmcp } from '../harness/vmcp.ts';

/** Returns the configuration of gateways over one backend that share sessions in Redis. */
export const sharedParts = (redis: RedisServer, url: string): GatewayParts => ({
  backends: [{ name: 'b', transport: 'streamable-http', url }],
  aggregation: { conflict_resolution: 'none' },
  scaling: { session_kvstore: { address: `127.0.0.1:${String(redis.port)}` } },
});

/** One `vmcp gateway` process behind the load balancer. */
export interface ReplicaProcess {
  readonly port: number;
  readonly url: string;
  /** The running process. */
  readonly vmcp: () => Vmcp;
  /** Starts it again on the same port, after it has ended. */
  start(): Promise<void>;
}

export interface Balanced {
  /** MCP endpoint of the load balancer, which sends each request to the next replica. */
  readonly url: string;
  readonly replicas: readonly ReplicaProcess[];
}

/** Starts three gateway processes behind HAProxy, without session affinity. */
export async function startReplicas(
  scope: Scope,
  parts: GatewayParts,
  { authorization, count = 3 }: { readonly authorization?: string; readonly count?: number } = {},
): Promise<Balanced> {
  const config = JSON.stringify(configOver(parts));
  const replicas = await Promise.all(Array.from({ length: count }, () => startReplica(scope, config)));
  const url = await balance(
    scope,
    replicas.map(({ port }) => port),
    authorization,
  );
  return { url, replicas };
}

async function startReplica(scope: Scope, config: string): Promise<ReplicaProcess> {
  const port = await freePort();
  let vmcp = await startGateway(scope, config, { port });
  return {
    port,
    url: vmcp.url,
    vmcp: () => vmcp,
    start: async () => {
      await vmcp.exited;
      vmcp = await startGateway(scope, config, { port });
    },
  };
}

/**
 * Starts HAProxy over these ports and returns its MCP endpoint. It repeats a request only when it cannot connect.
 * `authorization` is a header that it adds to every request.
 */
async function balance(scope: Scope, ports: readonly number[], authorization?: string): Promise<string> {
  const port = await freePort();
  const servers = ports.map((each) => `  server r${String(each)} 127.0.0.1:${String(each)}`);
  await startHaproxy(scope, [
    'frontend clients',
    `  bind 127.0.0.1:${String(port)}`,
    ...(authorization === undefined ? [] : [`  http-request set-header Authorization "${authorization}"`]),
    '  default_backend replicas',
    'backend replicas',
    '  balance roundrobin',
    '  option httpchk GET /readyz',
    '  default-server check inter 100ms fall 1 rise 1',
    ...servers,
  ]);
  const origin = `http://127.0.0.1:${String(port)}`;
  await eventually('the load balancer answers', async () => (await raw(`${origin}/readyz`)).status === 200);
  return `${origin}/mcp`;
}
