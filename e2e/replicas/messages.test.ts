import { describe, expect, it } from 'vitest';
import { configOver, startGatewayOver, type GatewayParts } from '../harness/authenticated-gateway.ts';
import { startSessionServer, WATCHED, type SessionServer } from '../harness/backends/session-server.ts';
import type { ReadStream } from '../harness/clients/event-stream.ts';
import { openSession, rpc, type RawSession } from '../harness/clients/raw.ts';
import { eventually } from '../harness/poll.ts';
import { hasRedis, startRedis } from '../harness/redis.ts';
import { testScope } from '../harness/scope.ts';
import { startGateway } from '../harness/vmcp.ts';
import { get, post } from './pair.ts';
import { sharedParts } from './replicas.ts';

/** Starts two gateways that share sessions: a process that can be killed, and one in this process. */
async function startPair() {
  const scope = testScope();
  const [redis, backend] = await Promise.all([startRedis(scope), startSessionServer(scope)]);
  const parts: GatewayParts = sharedParts(redis, backend.url);
  const [first, second] = await Promise.all([
    startGateway(scope, JSON.stringify(configOver(parts))),
    startGatewayOver(scope, parts),
  ]);
  return { first, second, backend, redis };
}

interface Watching {
  readonly session: RawSession;
  readonly stream: ReadStream;
  /** Id of its session at the backend. */
  readonly id: string;
}

/** Opens a session whose client has received one update at `url`. */
async function openWatching(url: string, backend: SessionServer): Promise<Watching> {
  const session = await openSession(url);
  const before = new Set(backend.open);
  const stream = await get(url, session);
  await post(url, session, rpc('resources/subscribe', { uri: WATCHED }, 2));
  await eventually('an update arrives', () => backend.touchAll().then(() => stream.ids.length > 0));
  const [id = ''] = [...backend.open].filter((each) => !before.has(each));
  return { session, stream, id };
}

describe.skipIf(!hasRedis)('a message of a backend while no client is connected', () => {
  it('reaches the client at another replica after the one with its stream was killed', async () => {
    const { first, second, backend, redis } = await startPair();
    const { session, stream, id } = await openWatching(first.url, backend);
    first.signal('SIGKILL');
    await eventually('the connection breaks', () => stream.isOver());
    await eventually('the connection to the backend breaks', () => !backend.listening.has(id));
    const last = stream.lastId();
    const key = (await redis.cli('KEYS', `*:s:${session.id}`)).trim();
    const holder = await redis.cli('HGET', key, 'g');
    await redis.cli('DEL', key.replace(`s:${session.id}`, `r:${holder}`)); // else it expires in some seconds
    await redis.cli('DEL', `${key.replace(':s:', ':e:')}:g`); // events are kept for five minutes
    await eventually('another replica listens', async () => {
      await post(second.url, session, rpc('tools/list', {}, 3));
      return backend.listening.has(id);
    });
    await backend.touchAll();
    const after = await get(second.url, session, last);
    await eventually('the missed update arrives', () => after.messages.length > 0);
    expect(after.ids[0]).toBe(`g.${String(Number(last.slice(2)) + 1)}`);
  });

  it('reaches the client at another replica after the one with its stream has stopped', async () => {
    const { first, second, backend } = await startPair();
    const { session, stream } = await openWatching(first.url, backend);
    first.signal('SIGTERM');
    await eventually('the stream ends', () => stream.isOver());
    await backend.touchAll();
    const after = await get(second.url, session, stream.lastId());
    await eventually('the missed update arrives', () => after.messages.length > 0);
    expect((await first.exited).code).toBe(0);
    expect(after.isOver()).toBe(false);
  });
});
