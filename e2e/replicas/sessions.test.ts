import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { startGatewayOver, type GatewayParts } from '../harness/authenticated-gateway.ts';
import { startSessionServer, WATCHED, type SessionServer } from '../harness/backends/session-server.ts';
import {
  initializeRequest,
  MCP_HEADERS,
  raw,
  REVISION,
  rpc,
  rpcReply,
  type RawResponse,
} from '../harness/clients/raw.ts';
import { readStream, type ReadStream } from '../harness/clients/event-stream.ts';
import { startIssuer } from '../harness/issuer.ts';
import { eventually } from '../harness/poll.ts';
import { hasRedis, startRedis, type RedisServer } from '../harness/redis.ts';
import { blockScope, testScope, type Scope } from '../harness/scope.ts';
import { sharedParts } from './replicas.ts';

const CAPABILITIES = { elicitation: {}, sampling: {}, roots: { listChanged: true } };

interface Replicas {
  readonly urls: readonly [string, string, string];
  readonly backend: SessionServer;
  readonly redis: RedisServer;
}

/** Starts three gateways in this process that share sessions. */
async function startReplicas(scope: Scope, parts: Partial<GatewayParts> = {}): Promise<Replicas> {
  const [redis, backend] = await Promise.all([startRedis(scope), startSessionServer(scope)]);
  const all = { ...sharedParts(redis, backend.url), ...parts };
  const [one, two, three] = await Promise.all([1, 2, 3].map(() => startGatewayOver(scope, all)));
  return { urls: [one?.url ?? '', two?.url ?? '', three?.url ?? ''], backend, redis };
}

type Headers = Readonly<Record<string, string>>;

/** Opens a session at `url` and returns the headers of its requests. */
async function open(url: string, extra: Headers = {}): Promise<Headers> {
  const body = initializeRequest(REVISION, CAPABILITIES);
  const {
    headers,
    status,
    body: answer,
  } = await raw(url, { method: 'POST', headers: { ...MCP_HEADERS, ...extra }, body });
  expect(status, answer).toBe(200);
  return {
    ...MCP_HEADERS,
    ...extra,
    'mcp-session-id': String(headers['mcp-session-id']),
    'mcp-protocol-version': REVISION,
  };
}

const post = (url: string, headers: Headers, message: object): Promise<RawResponse> =>
  raw(url, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', ...message }) });

async function call(url: string, headers: Headers, name: string, args: object = {}): Promise<string> {
  const response = await raw(url, { method: 'POST', headers, body: rpc('tools/call', { name, arguments: args }) });
  expect(response.status, response.body).toBe(200);
  const { result } = rpcReply(response);
  return (result!['content'] as { text: string }[])[0]?.text ?? '';
}

const stream = (
  scope: Scope,
  url: string,
  headers: Headers,
  name: string,
  args: object,
  id: unknown = 7,
): Promise<ReadStream> =>
  readStream(scope, url, {
    headers,
    body: rpc('tools/call', { name, arguments: args, _meta: { progressToken: 'mine' } }, id),
  });

const resume = (scope: Scope, url: string, headers: Headers, lastId?: string): Promise<ReadStream> =>
  readStream(scope, url, { headers: { ...headers, ...(lastId !== undefined && { 'last-event-id': lastId }) } });

describe.skipIf(!hasRedis)('three gateways with one store', () => {
  const scope = blockScope();
  let replicas: Replicas;
  beforeAll(async () => {
    replicas = await startReplicas(scope);
  });

  it('serve a session at every one, and use one session at its backend', async () => {
    const { urls, backend } = replicas;
    await eventually('each gateway has a session of its own', () => backend.open.size >= urls.length);
    const before = new Set(backend.open);
    const isNew = (id: string) => !before.has(id);
    const headers = await open(urls[0]);
    const first = await Promise.all(urls.map((url) => call(url, headers, 'count')));
    expect(first.toSorted()).toEqual(['1', '2', '3']);
    for (const [index, url] of [...urls, ...urls].entries())
      expect(await call(url, headers, 'count')).toBe(String(index + 4));
    await eventually('the other sessions of the race are ended', () => [...backend.open].filter(isNew).length === 1);
  });

  it('end a session everywhere when one ends it, also at a backend that only another one used', async () => {
    const { urls, backend } = replicas;
    const headers = await open(urls[0]);
    const before = new Set(backend.open);
    await call(urls[1], headers, 'count');
    const [own] = [...backend.open].filter((id) => !before.has(id));
    expect(own).toBeDefined();
    expect((await raw(urls[2], { method: 'DELETE', headers })).status).toBe(204);
    for (const url of urls) {
      const response = await post(url, headers, { id: 1, method: 'tools/list' });
      expect([response.status, response.headers['content-type']]).toEqual([404, 'text/plain; charset=utf-8']);
    }
    await eventually('the backend has no session left', () => !backend.open.has(own ?? ''));
  });

  it.each([
    ['ask', 'elicitation/create', { action: 'accept', content: { name: 'Ada' } }],
    ['sample', 'sampling/createMessage', { model: 'm', role: 'assistant', content: { type: 'text', text: 'yo' } }],
    ['roots', 'roots/list', { roots: [{ uri: 'file:///a' }] }],
  ])('pass on the answer to a request of %s that reaches another one', async (tool, method, result) => {
    const { urls } = replicas;
    const headers = await open(urls[0]);
    for (const [at, other] of [
      [0, 1],
      [1, 2],
      [2, 2],
    ] as const) {
      const running = await stream(testScope(), urls[at], headers, tool, {});
      const { id } = await running.next((message) => message.method === method);
      expect((await post(urls[other], headers, { id, result })).status).toBe(202);
      expect(await running.next((message) => message.id === 7)).toHaveProperty('result.content');
    }
  });

  it('cancel a call that runs at another one', async () => {
    const { urls, backend } = replicas;
    const headers = await open(urls[0]);
    const running = await stream(
      testScope(),
      urls[0],
      headers,
      'steps',
      { count: 100, everyMs: 50, text: 'cancel me' },
      'c1',
    );
    await running.next(({ method }) => method === 'notifications/progress');
    const params = { requestId: 'c1', reason: 'enough' };
    expect((await post(urls[2], headers, { method: 'notifications/cancelled', params })).status).toBe(202);
    await eventually('the backend stops', () => backend.cancelled.includes('cancel me'));
    await eventually('the stream ends', () => running.isOver());
    for (const url of urls) expect((await resume(testScope(), url, headers, running.lastId())).status).toBe(204);
  });

  it('filter log messages by a level that was set at another one', async () => {
    const { urls } = replicas;
    const headers = await open(urls[0]);
    await call(urls[1], headers, 'count');
    expect(
      (await post(urls[0], headers, { id: 2, method: 'logging/setLevel', params: { level: 'error' } })).status,
    ).toBe(200);
    await eventually('the backend knows the level', async () => (await call(urls[2], headers, 'log')) === 'error');
    const running = await stream(testScope(), urls[1], headers, 'log', {});
    await running.next((message) => message.id === 7);
    const levels = running.messages.flatMap(({ method, params }) =>
      method === 'notifications/message' ? [params?.['level']] : [],
    );
    expect(levels).toEqual(['error']);
  });

  it('send an update of a resource to the client stream at another one, once', async () => {
    const { urls } = replicas;
    const headers = await open(urls[0]);
    const listening = await resume(testScope(), urls[1], headers);
    expect(
      (await post(urls[0], headers, { id: 2, method: 'resources/subscribe', params: { uri: WATCHED } })).status,
    ).toBe(200);
    await eventually('the update arrives', async () => {
      await call(urls[2], headers, 'touch');
      return listening.messages.some(({ method }) => method === 'notifications/resources/updated');
    });
    await sleep(300);
    const count = listening.messages.length;
    await call(urls[2], headers, 'touch');
    await eventually('one more arrives', () => listening.messages.length > count);
    await sleep(200);
    expect(listening.messages).toHaveLength(count + 1);
  });

  it('end a subscription when a token at another one may not have it', async () => {
    const issuer = await startIssuer(testScope());
    const policies = [
      'permit(principal, action == Action::"call_tool", resource);',
      'permit(principal, action, resource) when { principal has claim_staff && principal.claim_staff };',
    ];
    const { urls, backend } = await startReplicas(testScope(), { issuer, cedar: { policies } });
    const auth = (claims: object) => ({ authorization: `Bearer ${issuer.token({ sub: 'ann', ...claims })}` });
    const headers = await open(urls[0], auth({ staff: true }));
    const listening = await resume(testScope(), urls[0], headers);
    await post(urls[0], headers, { id: 2, method: 'resources/subscribe', params: { uri: WATCHED } });
    await eventually('an update arrives', async () => {
      await call(urls[1], headers, 'touch');
      return listening.messages.length > 0;
    });
    await call(urls[1], { ...headers, ...auth({}) }, 'count');
    await sleep(200);
    const count = listening.messages.length;
    await backend.touchAll();
    await sleep(300);
    expect(listening.messages).toHaveLength(count);
  });

  it('replay what a client missed of its stream at another one', async () => {
    const { urls } = replicas;
    const headers = await open(urls[0]);
    const first = await resume(testScope(), urls[0], headers);
    await post(urls[0], headers, { id: 2, method: 'resources/subscribe', params: { uri: WATCHED } });
    await eventually('an update arrives', async () => {
      await call(urls[2], headers, 'touch');
      return first.messages.length > 0;
    });
    await sleep(200);
    const last = first.lastId();
    first.cut();
    await sleep(100);
    await call(urls[1], headers, 'touch');
    await call(urls[2], headers, 'touch');
    await sleep(300);
    const second = await resume(testScope(), urls[1], headers, last);
    await eventually('the missed updates arrive', () => second.messages.length >= 2);
    expect(second.ids).toEqual([1, 2].map((more) => `g.${String(Number(last.slice(2)) + more)}`));
    await eventually('updates continue', async () => {
      await call(urls[0], headers, 'touch');
      return second.messages.length > 2;
    });
  });

  it('continue the stream of a call at another one', async () => {
    const { urls } = replicas;
    const headers = await open(urls[0]);
    const running = await stream(testScope(), urls[0], headers, 'steps', { count: 20, everyMs: 50 });
    await running.next(({ params }) => params?.['progress'] === 3);
    const last = running.lastId();
    const seen = running.messages.length;
    running.cut();
    const rest = await resume(testScope(), urls[1], headers, last);
    await rest.next(({ id }) => id === 7);
    await eventually('the stream ends', () => rest.isOver());
    const progress = rest.messages.flatMap(({ params }) => params?.['progress'] ?? []);
    expect(progress).toEqual(Array.from({ length: 20 - seen }, (_, index) => seen + 1 + index));
    const again = await resume(testScope(), urls[2], headers, last);
    await eventually('the stream ends again', () => again.isOver());
    expect(again.messages).toEqual(rest.messages);
  });
});

describe.skipIf(!hasRedis)('three gateways with logins', () => {
  it('hide a session from other users at every one, byte for byte', async () => {
    const scope = testScope();
    const issuer = await startIssuer(scope);
    const { urls } = await startReplicas(scope, { issuer });
    const bearer = (sub: string) => ({ authorization: `Bearer ${issuer.token({ sub })}` });
    const ada = await open(urls[0], bearer('ada'));
    const eve = { ...ada, ...bearer('eve') };
    const list = { id: 1, method: 'tools/list' };
    const unknown = await post(urls[0], { ...eve, 'mcp-session-id': 'c0ffee00-0000-4000-8000-000000000000' }, list);
    for (const url of [...urls, ...urls]) {
      const { status, body, headers } = await post(url, eve, list);
      expect([status, body, headers['content-type']]).toEqual([404, unknown.body, unknown.headers['content-type']]);
      expect((await raw(url, { method: 'DELETE', headers: eve })).status).toBe(404);
      expect((await raw(url, { headers: eve })).status).toBe(404);
    }
    for (const url of urls) expect((await post(url, ada, list)).status).toBe(200);
  });
});

describe.skipIf(!hasRedis)('three gateways whose store fails', () => {
  it('answer 503 and forget nothing while it is down, and go on when it is back', async () => {
    const scope = testScope();
    const { urls, redis } = await startReplicas(scope);
    const headers = await open(urls[0]);
    await call(urls[1], headers, 'count');
    redis.pause();
    expect(await call(urls[1], headers, 'count')).toBe('2');
    const waiting = [
      raw(urls[0], { method: 'POST', headers: MCP_HEADERS, body: initializeRequest() }),
      post(urls[2], headers, { id: 1, method: 'tools/list' }),
    ];
    for (const { status, headers: answer } of await Promise.all(waiting))
      expect([status, answer['retry-after']]).toEqual([503, '5']);
    redis.resume();
    await eventually(
      'the session is served again',
      async () => (await post(urls[2], headers, { id: 1, method: 'tools/list' })).status === 200,
    );
    expect(await call(urls[2], headers, 'count')).toBe('3');
    await redis.kill();
    await eventually(
      'a replica that must ask answers 503',
      async () => (await post(urls[0], headers, { id: 1, method: 'tools/list' })).status === 503,
      { timeoutMs: 15_000 },
    );
    await startRedis(scope, { port: redis.port });
    await eventually(
      'the session is unknown',
      async () => (await post(urls[0], headers, { id: 1, method: 'tools/list' })).status === 404,
      { timeoutMs: 15_000 },
    );
    await eventually(
      'new sessions work',
      async () =>
        (await raw(urls[0], { method: 'POST', headers: MCP_HEADERS, body: initializeRequest() })).status === 200,
    );
  });
});

describe.skipIf(!hasRedis)('three gateways whose store is full', () => {
  it('refuse new sessions with 503, and continue those that they have', async () => {
    const { urls, redis } = await startReplicas(testScope());
    const headers = await open(urls[0]);
    await call(urls[1], headers, 'count');
    await redis.cli('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
    await redis.cli('CONFIG', 'SET', 'maxmemory', '1000000');
    const full = await raw(urls[2], { method: 'POST', headers: MCP_HEADERS, body: initializeRequest() });
    expect([full.status, full.headers['retry-after']]).toEqual([503, '5']);
    for (const url of urls) expect(Number(await call(url, headers, 'count'))).toBeGreaterThan(1);
    await redis.cli('CONFIG', 'SET', 'maxmemory', '0');
    await eventually('new sessions work', async () => Object.keys(await open(urls[2])).length > 0);
  });
});

it.skipIf(!hasRedis)('a message that is no message of a replica does no harm', async () => {
  const { urls, redis } = await startReplicas(testScope());
  const headers = await open(urls[0]);
  const channels = (await redis.cli('PUBSUB', 'CHANNELS')).split('\n');
  expect(channels).toHaveLength(4);
  const texts = [
    '',
    '\n',
    '{}',
    '{"kind":"ask"}\n',
    '{"kind":"carry","fields":{}}\n',
    '{"kind":"ended"}\n',
    '{"kind":"client","fields":{"session":1}}\n{',
    'null\nnull',
  ];
  for (const channel of channels) for (const text of texts) await redis.cli('PUBLISH', channel, text);
  for (const url of urls) expect(Number(await call(url, headers, 'count'))).toBeGreaterThan(0);
});
