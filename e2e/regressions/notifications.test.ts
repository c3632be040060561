import { describe, expect, it } from 'vitest';
import { openSession } from '../harness/clients/raw.ts';
import { entry } from '../harness/manifests.ts';
import { eventually } from '../harness/poll.ts';
import { testScope } from '../harness/scope.ts';
import { openGet, openPost, type Received } from '../faults/event-stream.ts';
import { startMcpServer } from '../faults/mcp-server.ts';
import { gateway, gatewayOverOne, notify, often, rarely, toolCall } from './gateway.ts';

const LIST_CHANGED = 'notifications/tools/list_changed';
const UPDATED = 'notifications/resources/updated';
const uri = 'shelf://one/a';

const subscribable = {
  capabilities: { tools: { listChanged: true }, resources: { subscribe: true } },
  methods: {
    'resources/list': ({ result }: { result: (value: unknown) => void }) => {
      result({
        resources: [
          { uri, name: 'a' },
          { uri: `${uri}b`, name: 'b' },
        ],
      });
    },
    'resources/templates/list': ({ result }: { result: (value: unknown) => void }) => {
      result({ resourceTemplates: [] });
    },
    'resources/subscribe': ({ result }: { result: (value: unknown) => void }) => {
      result({});
    },
    'resources/unsubscribe': ({ result }: { result: (value: unknown) => void }) => {
      result({});
    },
  },
};

/** Waits for messages that must not arrive. */
const quiet = () => new Promise((resolve) => setTimeout(resolve, 300));
const countOf = (stream: Received, method: string) => stream.methods().filter((name) => name === method).length;

describe('updates of a resource', () => {
  it('reach only the sessions that have subscribed', async () => {
    const { vmcp, backend } = await gatewayOverOne(subscribable);
    const [a, b, c] = [await openSession(vmcp.url), await openSession(vmcp.url), await openSession(vmcp.url)];
    const streams = [await openGet(vmcp.url, a), await openGet(vmcp.url, b), await openGet(vmcp.url, c)];
    await a.request('resources/subscribe', { uri });
    await b.request('resources/subscribe', { uri: `${uri}b` });
    await c.call('one_tool');
    await eventually('every session has a stream at the backend', () => backend.streams.size === 4);
    backend.notify(UPDATED, { uri });
    await eventually('the subscriber is notified', () => streams[0] && countOf(streams[0], UPDATED) === 1);
    await quiet();
    expect(streams.map((stream) => countOf(stream, UPDATED))).toEqual([1, 0, 0]);

    await a.request('resources/unsubscribe', { uri });
    backend.notify(UPDATED, { uri });
    backend.notify(UPDATED, { uri: `${uri}b` });
    await eventually('the other subscriber is notified', () => streams[1] && countOf(streams[1], UPDATED) === 1);
    await quiet();
    expect(streams.map((stream) => countOf(stream, UPDATED))).toEqual([1, 1, 0]);
  });

  it('cannot be requested from a backend without subscriptions', async () => {
    const { vmcp, backend } = await gatewayOverOne({
      ...subscribable,
      capabilities: { tools: {}, resources: {} },
    });
    const session = await openSession(vmcp.url);
    expect((await session.request('resources/subscribe', { uri })).error).toMatchObject({ code: -32601 });
    expect(backend.count('resources/subscribe')).toBe(0);
  });

  it('fail with a timeout when the backend does not answer the subscription, and the backend stays healthy', async () => {
    const operational = { ...often, timeouts: { default: '1s' } };
    const { vmcp } = await gatewayOverOne(
      { ...subscribable, methods: { ...subscribable.methods, 'resources/subscribe': () => undefined } },
      { operational },
    );
    const session = await openSession(vmcp.url);
    expect((await session.request('resources/subscribe', { uri })).error).toMatchObject({ code: -32001 });
    await quiet();
    expect(await session.tools()).toEqual(['one_tool']);
  });
});

describe('list_changed', () => {
  it('reaches each session with the old list once, and no session that was opened after the change', async () => {
    const { vmcp, backend } = await gatewayOverOne();
    const before = await openSession(vmcp.url);
    await before.tools();
    const old = await openGet(vmcp.url, before);
    await before.request('ping');
    const known = countOf(old, LIST_CHANGED);
    backend.tools = ['tool', 'more'];
    backend.notify(LIST_CHANGED);
    backend.notify(LIST_CHANGED);
    await eventually('the session is notified', () => countOf(old, LIST_CHANGED) > known);
    const behind = await openSession(vmcp.url);
    const fresh = await openGet(vmcp.url, behind);
    await quiet();
    expect([countOf(old, LIST_CHANGED) - known, countOf(fresh, LIST_CHANGED)]).toEqual([1, 0]);
    expect(await before.tools()).toEqual(['one_more', 'one_tool']);
  });

  it('is not forwarded when the list of the backend is unchanged', async () => {
    const { vmcp, backend } = await gatewayOverOne();
    const session = await openSession(vmcp.url);
    await session.tools();
    const stream = await openGet(vmcp.url, session);
    await session.request('ping');
    const known = countOf(stream, LIST_CHANGED);
    const lists = backend.count('tools/list');
    backend.notify(LIST_CHANGED);
    await eventually('the list is read again', () => backend.count('tools/list') > lists);
    await quiet();
    expect(countOf(stream, LIST_CHANGED)).toBe(known);
  });

  it('announces a backend that starts later', async () => {
    const late = await startMcpServer(testScope(), 'late');
    await late.crash();
    const early = await startMcpServer(testScope(), 'early');
    const vmcp = await gateway([entry('early', early.url), entry('late', late.url)], { operational: often });
    const session = await openSession(vmcp.url);
    expect(await session.tools()).toEqual(['early_tool']);
    const stream = await openGet(vmcp.url, session);
    await session.request('ping');
    const known = countOf(stream, LIST_CHANGED);
    await late.recover();
    await eventually('the client is notified', () => countOf(stream, LIST_CHANGED) > known);
    expect(await session.tools()).toEqual(['early_tool', 'late_tool']);
  });
});

describe('log messages', () => {
  const logsIn = ({ messages }: Received) =>
    messages.filter(({ method }) => method === 'notifications/message').map(({ params }) => params);
  const LEVELS = ['debug', 'info', 'warning', 'error'];

  it('are filtered by the level of each session, during a call and outside of calls', async () => {
    const { vmcp, backend } = await gatewayOverOne({
      capabilities: { tools: {}, logging: {} },
      methods: {
        'tools/call': ({ send, result }) => {
          for (const level of LEVELS) send(notify('notifications/message', { level, data: level }));
          result({ content: [] });
        },
      },
    });
    const [all, severe] = [await openSession(vmcp.url), await openSession(vmcp.url)];
    expect((await severe.request('logging/setLevel', { level: 'warning' })).result).toEqual({});
    const levels = ({ messages }: Received) =>
      messages.flatMap(({ params }) => (params?.['level'] as string | undefined) ?? []);
    const calls = await Promise.all(
      [all, severe].map(async (session) => {
        const call = await openPost(vmcp.url, session, toolCall(1, 'one_tool'));
        await eventually('the stream ends', () => call.ended());
        return levels(call);
      }),
    );
    expect(calls).toEqual([LEVELS, ['warning', 'error']]);

    const streams = [await openGet(vmcp.url, all), await openGet(vmcp.url, severe)];
    await eventually('every session has a stream at the backend', () => backend.streams.size >= 2);
    await quiet();
    for (const level of LEVELS) backend.notify('notifications/message', { level, data: level });
    await eventually('the last message has arrived', () => streams.every((stream) => levels(stream).includes('error')));
    expect(streams.map(levels)).toEqual([LEVELS, ['warning', 'error']]);
  });

  it.each([
    ['prefix', ['one/cache', 'one', 'one', 'one/é"']],
    ['none', ['cache', undefined, 7, 'é"']],
  ])('name their backend, except with the strategy %s', async (conflictResolution, expected) => {
    const logs = [
      { level: 'info', logger: 'cache', data: { n: 1 } },
      { level: 'info', data: 'second' },
      { level: 'info', logger: 7, data: 'third' },
      { level: 'info', data: 'fourth', logger: 'é"' },
    ];
    const { vmcp, backend } = await gatewayOverOne(
      {
        capabilities: { tools: {}, logging: {} },
        methods: {
          'tools/call': ({ send, result }) => {
            for (const params of logs) send(notify('notifications/message', params));
            result({ content: [] });
          },
        },
      },
      { operational: rarely, aggregation: { conflictResolution } },
    );
    const named = logs.map(({ logger, ...log }, at) => ({
      ...log,
      ...(expected[at] !== undefined && { logger: expected[at] }),
    }));
    const session = await openSession(vmcp.url);
    const [tool = ''] = await session.tools();
    const call = await openPost(vmcp.url, session, toolCall(1, tool));
    await eventually('the stream ends', () => call.ended());
    expect(logsIn(call)).toEqual(named);

    const stream = await openGet(vmcp.url, session);
    await eventually('the session has a stream at the backend', () => backend.streams.size > 0);
    await quiet();
    for (const params of logs) backend.notify('notifications/message', params);
    await eventually('the messages arrive', () => logsIn(stream).length >= logs.length);
    expect(logsIn(stream)).toEqual(named);
  });
});

it('forwards the log level of a session to its backends, at once and to backends that it opens later', async () => {
  const levels: unknown[] = [];
  const { vmcp } = await gatewayOverOne({
    capabilities: { tools: {}, logging: {} },
    methods: {
      'logging/setLevel': ({ result, message }) => {
        levels.push(message.params?.['level']);
        result({});
      },
    },
  });
  const session = await openSession(vmcp.url);
  await session.request('logging/setLevel', { level: 'warning' });
  await session.call('one_tool');
  await eventually('the opened backend has the level', () => levels.includes('warning'));
  await session.request('logging/setLevel', { level: 'debug' });
  await eventually('the backend has the new level', () => levels.includes('debug'));
  expect(levels).toEqual(['warning', 'debug']);
});

it('forwards progress with the token of the client, in order, before the reply', async () => {
  const { vmcp } = await gatewayOverOne(
    {
      methods: {
        'tools/call': ({ send, result, message }) => {
          const { progressToken } = message.params!['_meta'] as { progressToken: unknown };
          for (const progress of [1, 2, 3]) send(notify('notifications/progress', { progressToken, progress }));
          result({ content: [] });
        },
      },
    },
    { operational: rarely },
  );
  const session = await openSession(vmcp.url);
  const calls = await Promise.all(
    [1, 2].map(async (id) => {
      const call = await openPost(vmcp.url, session, toolCall(id, 'one_tool', {}, { progressToken: 'same' }));
      await eventually('the stream ends', () => call.ended());
      return call.messages;
    }),
  );
  for (const [index, messages] of calls.entries()) {
    expect(messages).toMatchObject([
      ...[1, 2, 3].map((progress) => ({ params: { progressToken: 'same', progress } })),
      { id: index + 1, result: { content: [] } },
    ]);
  }
});
