import { startGatewayOver, type AuthenticatedGateway, type GatewayParts } from '../harness/authenticated-gateway.ts';
import { startSessionServer, type SessionServer } from '../harness/backends/session-server.ts';
import { readStream, type ReadStream } from '../harness/clients/event-stream.ts';
import { raw, type RawResponse, type RawSession } from '../harness/clients/raw.ts';
import { startRedis, type RedisServer } from '../harness/redis.ts';
import { testScope, type Scope } from '../harness/scope.ts';
import { sharedParts } from './replicas.ts';

export type Seams = NonNullable<Parameters<typeof startGatewayOver>[2]>;

/** Two gateways of this process over one backend. */
export interface Pair {
  /** MCP endpoints of the two. */
  readonly first: string;
  readonly second: string;
  readonly gateways: readonly [AuthenticatedGateway, AuthenticatedGateway];
  readonly parts: GatewayParts;
  readonly redis: RedisServer;
  readonly backend: SessionServer;
}

/** Starts two gateways that share sessions, in this process. */
export async function startPair(scope: Scope, given: Partial<GatewayParts> = {}, seams: Seams = {}): Promise<Pair> {
  const [redis, backend] = await Promise.all([startRedis(scope), startSessionServer(scope)]);
  const parts: GatewayParts = { ...sharedParts(redis, backend.url), ...given };
  const gateways = await Promise.all([startGatewayOver(scope, parts, seams), startGatewayOver(scope, parts, seams)]);
  return { first: gateways[0].url, second: gateways[1].url, gateways, parts, redis, backend };
}

/** Sends a message in a session. */
export const post = (url: string, { headers }: RawSession, body: string): Promise<RawResponse> =>
  raw(url, { method: 'POST', headers, body });

/** Ends a session. */
export const end = (url: string, { headers }: RawSession): Promise<RawResponse> =>
  raw(url, { method: 'DELETE', headers });

/** Opens the stream of a session, or resumes it after the event `lastId`. */
export const get = (url: string, { headers }: RawSession, lastId?: string): Promise<ReadStream> =>
  readStream(testScope(), url, { headers: { ...headers, ...(lastId !== undefined && { 'last-event-id': lastId }) } });
