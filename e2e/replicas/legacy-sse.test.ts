import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { describe, expect, it } from 'vitest';
import { startSessionServer } from '../harness/backends/session-server.ts';
import { initializeRequest, MCP_HEADERS, raw, rpc, type RawResponse } from '../harness/clients/raw.ts';
import { readStream, type ReadStream } from '../harness/clients/event-stream.ts';
import { hasHaproxy } from '../harness/proxies/haproxy.ts';
import { startIssuer } from '../harness/issuer.ts';
import { eventually } from '../harness/poll.ts';
import { hasRedis, startRedis } from '../harness/redis.ts';
import { beside, testScope, type Scope } from '../harness/scope.ts';
import { capturedEvents } from '../scenarios/audit/lines.ts';
import { startPair as startSharingPair, type Pair } from './pair.ts';
import { sharedParts, startReplicas } from './replicas.ts';

type Headers = Readonly<Record<string, string>>;
/** Starts two gateways that share sessions, with a session of their own at the backend each. */
async function startPair(...given: Parameters<typeof startSharingPair>): Promise<Pair> {
  const pair = await startSharingPair(...given);
  await eventually('both gateways have a session of their own', () => pair.backend.open.size === 2);
  return pair;
}

/** A connection of HTTP+SSE without a client library: each message can be sent to any gateway. */
interface Connection {
  readonly stream: ReadStream;
  /** Sends a message to the gateway with this URL. */
  post(url: string, body: string, headers?: Headers): Promise<RawResponse>;
}

async function connect(scope: Scope, url: string, extra: Headers = {}): Promise<Connection> {
  const stream = await readStream(scope, new URL('/sse', url).href, {
    headers: { accept: 'text/event-stream', ...extra },
  });
  await eventually('the endpoint is named', () => stream.endpoint() !== '');
  const post: Connection['post'] = (at, body, headers = {}) =>
    raw(new URL(stream.endpoint(), at).href, {
      method: 'POST',
      headers: { ...MCP_HEADERS, ...extra, ...headers },
      body,
    });
  return { stream, post };
}

const INITIALIZE = initializeRequest('2024-11-05', { elicitation: {}, sampling: {} });

/** Initializes at the gateway with this URL. */
async function initialize({ stream, post }: Connection, url: string): Promise<void> {
  const { status, body } = await post(url, INITIALIZE);
  expect([status, body]).toEqual([202, '']);
  expect(await stream.next(({ id }) => id === 0)).toHaveProperty('result.serverInfo.name', 'vmcp');
}

const call = (name: string, args: object = {}, id: unknown = 7): string =>
  rpc('tools/call', { name, arguments: args, _meta: { progressToken: 'mine' } }, id);

const text = (value: string) => ({ content: [{ type: 'text', text: value }] });

/** Kills a replica: the streams that it has break, and its calls for the clients of others get an error. */
async function killed(scope: Scope): Promise<void> {
  const [redis, backend] = await Promise.all([startRedis(scope), startSessionServer(scope)]);
  const { url, replicas } = await startReplicas(scope, sharedParts(redis, backend.url));
  const [first = '', second = ''] = replicas.map((replica) => replica.url);
  const [own, other] = [await connect(scope, first), await connect(scope, second)];
  await Promise.all([initialize(own, second), initialize(other, second)]);
  await own.post(second, call('count'));
  await own.stream.next(({ id }) => id === 7);
  await other.post(first, call('steps', { count: 500, everyMs: 100 }, 'lost'));
  await other.stream.next(({ params }) => params?.['progress'] === 2);
  replicas[0]?.vmcp().signal('SIGKILL');
  await eventually('the stream breaks', () => own.stream.isOver());
  const statuses: number[] = [];
  await eventually('the session has ended', async () => {
    await sleep(1_000); // an answer of the second before is used again
    statuses.push((await own.post(second, call('count'))).status);
    return statuses.at(-1) === 404;
  });
  expect(new Set(statuses)).not.toContain(202);
  const { error } = await other.stream.next(({ id }) => id === 'lost');
  expect(error).toMatchObject({ code: -32603, data: { reason: 'call_lost' } });
  await other.post(second, call('echo', { text: 'on' }, 8));
  expect((await other.stream.next(({ id }) => id === 8)).result).toEqual(text('on'));
  const client = new Client({ name: 'again', version: '1' });
  await client.connect(new SSEClientTransport(new URL('/sse', url)));
  scope.defer(() => client.close());
  for (let at = 1; at < 5; at += 1)
    expect(await client.callTool({ name: 'count', arguments: {} })).toMatchObject(text(String(at)));
}

describe.skipIf(!hasRedis || !hasHaproxy)('a client of HTTP+SSE at several gateways', () => {
  const replicaKilled = beside(killed);

  it('initializes, calls, answers questions, gets progress and cancels at the one without its stream', async () => {
    const scope = testScope();
    const { first, second, backend } = await startPair(scope);
    const client = await connect(scope, first);
    const { stream, post } = client;
    expect((await post(second, call('count'))).status).toBe(400);
    await initialize(client, second);
    expect((await post(second, INITIALIZE)).status).toBe(400);
    expect((await post(second, '{')).status).toBe(400);
    for (const [at, url] of [second, first, second].entries()) {
      expect((await post(url, call('count', {}, at + 1))).status).toBe(202);
      expect((await stream.next(({ id }) => id === at + 1)).result).toMatchObject(text(String(at + 1)));
    }
    const answered = new Set<unknown>();
    for (const [asking, answering] of [
      [second, first],
      [first, second],
    ] as const) {
      await post(asking, call('ask', {}, asking));
      const asked = await stream.next(({ method, id }) => method === 'elicitation/create' && !answered.has(id));
      answered.add(asked.id);
      const answer = { jsonrpc: '2.0', id: asked.id, result: { action: 'accept', content: { name: 'ann' } } };
      expect((await post(answering, JSON.stringify(answer))).status).toBe(202);
      expect((await stream.next(({ id }) => id === asking)).result).toMatchObject({ content: [{ type: 'text' }] });
    }
    const long = 'grüezi '.repeat(150_000);
    await post(second, call('echo', { text: long }, 'long'));
    expect((await stream.next(({ id }) => id === 'long')).result).toEqual(text(long));
    await post(second, call('steps', { count: 3, everyMs: 1 }, 'steps'));
    await stream.next(({ id }) => id === 'steps');
    const progress = stream.messages.flatMap(({ params }) => params?.['progress'] ?? []);
    expect(progress).toEqual([1, 2, 3]);
    await post(second, call('steps', { count: 500, everyMs: 50, text: 'stop' }, 'stop'));
    await stream.next(({ params }) => params?.['progress'] === 4);
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'stop' } };
    expect((await post(first, JSON.stringify(cancel))).status).toBe(202);
    await eventually('the backend stops', () => backend.cancelled.includes('stop'));
    expect(stream.isOver()).toBe(false);
  });

  it('ends its session at both and at the backend when its stream closes', async () => {
    const scope = testScope();
    const { stdout, events } = capturedEvents();
    const { first, second, redis, backend } = await startPair(scope, { audit: {} }, { stdout });
    const before = new Set(backend.open);
    const client = await connect(scope, first);
    await initialize(client, second);
    await client.post(second, call('count'));
    await client.stream.next(({ id }) => id === 7);
    await client.post(second, call('steps', { count: 500, everyMs: 50, text: 'left' }, 8));
    await client.stream.next(({ params }) => params?.['progress'] === 1);
    expect([...backend.open].filter((id) => !before.has(id))).toHaveLength(1);
    client.stream.cut();
    await eventually('the call ends', () => backend.cancelled.includes('left'));
    await eventually('the backend has ended its session', () => ![...backend.open].some((id) => !before.has(id)));
    for (const url of [first, second]) expect((await client.post(url, call('count'))).status).toBe(404);
    expect(await redis.cli('KEYS', '*:s:*')).toBe('');
    const of = (type: string) => events().filter((event) => event.type === type);
    await eventually('its end is recorded', () => of('vmcp_session_terminated').length > 0);
    expect(of('vmcp_session_created')).toHaveLength(1);
    expect(of('vmcp_session_terminated').map(({ metadata }) => metadata.extra['reason'])).toEqual(['stream_closed']);
  });

  it('is hidden from other users and from streamable HTTP at both', async () => {
    const scope = testScope();
    const { stdout, events } = capturedEvents();
    const issuer = await startIssuer(scope);
    const { first, second } = await startPair(scope, { issuer, audit: {} }, { stdout });
    const bearer = (sub: string) => ({ authorization: `Bearer ${issuer.token({ sub })}` });
    const client = await connect(scope, first, bearer('ada'));
    const id = new URLSearchParams(client.stream.endpoint().split('?')[1]).get('sessionId') ?? '';
    const unknown = await raw(new URL(`/messages?sessionId=unknown`, first).href, {
      method: 'POST',
      headers: { ...MCP_HEADERS, ...bearer('eve') },
      body: INITIALIZE,
    });
    const isHidden = async (body: string): Promise<void> => {
      for (const url of [first, second]) {
        const answer = await client.post(url, body, bearer('eve'));
        expect([answer.status, answer.body]).toEqual([404, unknown.body]);
      }
    };
    await isHidden(INITIALIZE);
    await initialize(client, second);
    await isHidden(call('count'));
    await client.post(second, call('count'));
    await isHidden(call('count'));
    const violations = () => events().filter(({ type }) => type === 'vmcp_session_binding_violation');
    await eventually('each is recorded', () => violations().length === 6);
    const headers = { ...MCP_HEADERS, ...bearer('ada'), 'mcp-session-id': id };
    for (const url of [first, second]) {
      expect((await raw(url, { method: 'POST', headers, body: call('count') })).status).toBe(404);
      expect((await raw(url, { headers })).status).toBe(404);
      expect((await raw(url, { method: 'DELETE', headers })).status).toBe(404);
    }
    expect(violations()).toHaveLength(6);
    await client.post(second, call('count', {}, 9));
    expect((await client.stream.next(({ id: reply }) => reply === 9)).result).toMatchObject(text('2'));
  });

  it('gets 503 while the store is down, and initializes when it is back', async () => {
    const scope = testScope();
    const { first, second, redis } = await startPair(scope);
    const client = await connect(scope, first);
    redis.pause();
    const refused = await Promise.all([first, second].map((url) => client.post(url, INITIALIZE)));
    expect(refused.map(({ status, headers }) => [status, headers['retry-after']])).toEqual([
      [503, '5'],
      [503, '5'],
    ]);
    redis.resume();
    await eventually('it is initialized', async () => (await client.post(second, INITIALIZE)).status === 202);
    expect(await client.stream.next(({ id }) => id === 0)).toHaveProperty('result');
  });

  it('notices that messages for it were lost: its stream ends', async () => {
    const scope = testScope();
    const { first, second, redis } = await startPair(scope);
    const client = await connect(scope, first);
    await initialize(client, second);
    await client.post(second, call('steps', { count: 10, everyMs: 100 }));
    await client.stream.next(({ params }) => params?.['progress'] === 1);
    const lost = eventually('the stream ends', () => client.stream.isOver());
    const kills = (async () => {
      for (let kill = 0; kill < 10 && !client.stream.isOver(); kill += 1) {
        await redis.cli('CLIENT', 'KILL', 'TYPE', 'pubsub');
        await sleep(100);
      }
    })();
    await Promise.all([lost, kills]);
    expect(client.stream.messages.some(({ id }) => id === 7)).toBe(false);
    const isUnknown = async () => (await client.post(second, call('count'))).status === 404;
    await eventually('the other one knows, too', isUnknown);
    const again = await connect(scope, first);
    await eventually(
      'the gateways hear of each other again',
      async () => (await again.post(second, '')).status === 400,
    );
    await initialize(again, second);
  });

  it('keeps its session when the other one stops, and loses it when its own one does', async () => {
    const scope = testScope();
    const { first, second, gateways, redis } = await startPair(scope);
    const [one, two] = [await connect(scope, first), await connect(scope, second)];
    await Promise.all([initialize(one, second), initialize(two, first)]);
    for (const { post, stream } of [one, two])
      for (const [at, url] of [first, second].entries()) {
        await post(url, call('echo', { text: 'on' }, at + 1));
        await stream.next(({ id }) => id === at + 1);
      }
    await two.post(first, call('steps', { count: 10, everyMs: 50 }, 'last'));
    await two.stream.next(({ params }) => params?.['progress'] === 1);
    await gateways[1].gateway.stop(10_000);
    await eventually('its stream ends', () => two.stream.isOver());
    expect(two.stream.messages.find(({ id }) => id === 'last')).toHaveProperty('result');
    expect((await redis.cli('KEYS', '*:s:*')).split('\n')).toHaveLength(1);
    await one.post(first, call('echo', { text: 'on' }, 3));
    expect(await one.stream.next(({ id }) => id === 3)).toHaveProperty('result');
    expect(one.stream.messages.some(({ error }) => error !== undefined)).toBe(false);
  });

  it('needs no store for calls at the one with its stream', async () => {
    const scope = testScope();
    const { first, second, redis } = await startPair(scope);
    const client = await connect(scope, first);
    await initialize(client, second);
    await client.post(first, call('steps', { count: 3, everyMs: 1 }, 'first'));
    await client.stream.next(({ id }) => id === 'first');
    await sleep(1_500);
    await redis.cli('CONFIG', 'RESETSTAT');
    for (let at = 1; at <= 20; at += 1) {
      await client.post(first, call('steps', { count: 3, everyMs: 1 }, at));
      await client.stream.next(({ id }) => id === at);
    }
    const stats = await redis.cli('INFO', 'commandstats');
    const count = (name: string): number =>
      Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`, 'u').exec(stats)?.[1] ?? 0);
    for (const name of ['xadd', 'publish', 'evalsha', 'pexpire']) expect([name, count(name) < 5]).toEqual([name, true]);
  });

  it('ends with its session at the store', async () => {
    const scope = testScope();
    const { first, second, redis } = await startPair(scope);
    const client = await connect(scope, first);
    await initialize(client, first);
    await redis.cli('FLUSHALL');
    expect((await client.post(second, call('count'))).status).toBe(404);
    await eventually('its stream ends', () => client.stream.isOver());
  });

  it('initializes at a connection whose session a failed request has left in the store', async () => {
    const scope = testScope();
    const { first, second, redis } = await startPair(scope);
    const [client, left] = [await connect(scope, first), await connect(scope, first)];
    await initialize(left, first);
    const keyOf = ({ stream }: Connection) => stream.endpoint().split('sessionId=')[1] ?? '';
    const key = await redis.cli('KEYS', `*:s:${keyOf(left)}`);
    await redis.cli('COPY', key, key.replace(keyOf(left), keyOf(client)));
    await initialize(client, second);
    await client.post(second, call('count'));
    expect(await client.stream.next(({ id }) => id === 7)).toHaveProperty('result');
  });

  it('sees its stream break when the replica with it is killed, and connects again', replicaKilled);
});
