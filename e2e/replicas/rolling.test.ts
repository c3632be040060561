import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { startSessionServer, type SessionServer } from '../harness/backends/session-server.ts';
import { openSession, rpc, type RawSession } from '../harness/clients/raw.ts';
import { readStream } from '../harness/clients/event-stream.ts';
import { hasHaproxy } from '../harness/proxies/haproxy.ts';
import { eventually } from '../harness/poll.ts';
import { hasRedis, startRedis } from '../harness/redis.ts';
import { startReplicas, type Balanced, sharedParts } from './replicas.ts';
import { testScope } from '../harness/scope.ts';

const CLIENTS = 12;
/** Rolling restarts of all replicas; each takes about five seconds. */
const ROLLING_RESTARTS = Number(process.env['ROLLING_RESTARTS'] ?? 1);

interface Failure {
  readonly client: number;
  readonly text: string;
  readonly detail: string;
}

interface Load {
  readonly failures: Failure[];
  readonly sent: string[];
  stop(): Promise<void>;
}

async function start(): Promise<Balanced & { readonly backend: SessionServer }> {
  const scope = testScope();
  const [redis, backend] = await Promise.all([startRedis(scope), startSessionServer(scope)]);
  const balanced = await startReplicas(scope, sharedParts(redis, backend.url));
  return { ...balanced, backend };
}

/** Sends one call and returns undefined, or the reason why it failed. */
async function echo(session: RawSession, text: string): Promise<string | undefined> {
  try {
    const { status, body } = await session.post(rpc('tools/call', { name: 'echo', arguments: { text } }));
    return status === 200 && body.includes(`"text":"${text}"`) ? undefined : `${String(status)} ${body}`;
  } catch (error) {
    return String(error);
  }
}

/** Calls without a pause until it is stopped, each client in a session of its own. A failed call is repeated once. */
async function startLoad(url: string): Promise<Load> {
  const load: Pick<Load, 'failures' | 'sent'> = { failures: [], sent: [] };
  let isRunning = true;
  const sessions = await Promise.all(Array.from({ length: CLIENTS }, () => openSession(url)));
  const work = sessions.map(async (session, client) => {
    for (let call = 0; isRunning; call += 1) {
      const text = `${String(client)}-${String(call)}`;
      load.sent.push(text);
      const detail = await echo(session, text);
      if (detail === undefined) continue;
      load.failures.push({ client, text, detail });
      const again = await echo(session, `${text}-again`);
      if (again !== undefined) load.failures.push({ client, text: `${text}-again`, detail: again });
    }
  });
  return {
    ...load,
    stop: async () => {
      isRunning = false;
      await Promise.all(work);
    },
  };
}

it.skipIf(!hasRedis || !hasHaproxy)(
  'a stream that is resumed after its replica was killed ends with an error for the call',
  async () => {
    const scope = testScope();
    const { replicas } = await start();
    const [first, second] = replicas;
    const session = await openSession(first?.url ?? '');
    const params = { name: 'steps', arguments: { count: 100, everyMs: 100 }, _meta: { progressToken: 1 } };
    const body = rpc('tools/call', params, 'lost');
    const running = await readStream(scope, first?.url ?? '', { headers: session.headers, body });
    await running.next(({ params: progress }) => progress?.['progress'] === 3);
    first?.vmcp().signal('SIGKILL');
    await eventually('the connection breaks', () => running.isOver());
    const headers = { ...session.headers, 'last-event-id': running.ids[1] ?? '' };
    const resumed = await readStream(scope, second?.url ?? '', { headers });
    const { error } = await resumed.next(({ id }) => id === 'lost');
    expect(error).toMatchObject({ code: -32603, data: { reason: 'call_lost' } });
    await eventually('the stream ends', () => resumed.isOver());
    expect(resumed.messages.slice(0, -1).map((message) => message.params?.['progress'])).toContain(3);
    const again = { ...headers, 'last-event-id': resumed.lastId() };
    expect((await readStream(scope, second?.url ?? '', { headers: again })).status).toBe(204);
  },
);

describe.skipIf(!hasRedis || !hasHaproxy)('three replicas under load', { timeout: 300_000 }, () => {
  it('lose no session when one is killed, and each client repeats one call at most', async () => {
    const { url, replicas, backend } = await start();
    const load = await startLoad(url);
    await sleep(1_000);
    const [victim] = replicas;
    victim?.vmcp().signal('SIGKILL');
    await sleep(1_500);
    await victim?.start();
    await sleep(1_000);
    await load.stop();
    expect(load.failures.filter(({ text }) => text.endsWith('-again'))).toEqual([]);
    const perClient = Map.groupBy(load.failures, ({ client }) => client);
    expect([...perClient.values()].filter(({ length }) => length > 1)).toEqual([]);
    expect(load.failures.filter(({ detail }) => detail.startsWith('404'))).toEqual([]);
    const failed = new Set(load.failures.map(({ text }) => text));
    const counts = Map.groupBy(backend.echoed, (text) => text);
    expect(load.sent.filter((text) => !failed.has(text) && counts.get(text)?.length !== 1)).toEqual([]);
    expect(load.sent.length).toBeGreaterThan(CLIENTS * 5);
  });

  it('fail no call during rolling restarts', async () => {
    const { url, replicas, backend } = await start();
    const load = await startLoad(url);
    await sleep(500);
    for (let round = 0; round < ROLLING_RESTARTS; round += 1) {
      for (const replica of replicas) {
        replica.vmcp().signal('SIGTERM');
        await replica.start();
        await sleep(300); // the load balancer finds it
      }
    }
    await load.stop();
    expect(load.failures).toEqual([]);
    expect(backend.echoed.toSorted()).toEqual(load.sent.toSorted());
  });
});
