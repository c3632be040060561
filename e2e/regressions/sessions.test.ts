import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { openSession, raw, rpcReply, textOf } from '../harness/clients/raw.ts';
import { eventually } from '../harness/poll.ts';
import { argumentOf, echoOf, type Message } from '../faults/mcp-server.ts';
import { openGet, openPost } from '../faults/event-stream.ts';
import { gatewayOverOne, notify, post, rarely, toolCall } from './gateway.ts';

const UNKNOWN = '00000000-0000-4000-8000-000000000000';

describe('an unknown session', () => {
  it('gets the same 404 for every request, and other sessions stay open', async () => {
    const { vmcp } = await gatewayOverOne();
    const [mine, ended] = [await openSession(vmcp.url), await openSession(vmcp.url)];
    await ended.end();
    const answers = await Promise.all(
      [UNKNOWN, ended.id, 'x'].flatMap((id) => {
        const headers = { ...mine.headers, 'mcp-session-id': id };
        const bodies = [
          toolCall(1, 'one_tool'),
          notify('notifications/initialized'),
          { jsonrpc: '2.0', id: 1, result: {} },
        ];
        return [
          ...bodies.map((body) => post(vmcp.url, { headers }, body)),
          raw(vmcp.url, { headers: { ...headers, accept: 'text/event-stream' } }),
          raw(vmcp.url, { method: 'DELETE', headers }),
        ];
      }),
    );
    const seen = new Set(
      answers.map(({ status, headers, body }) => `${status} ${headers['content-type'] ?? ''} ${body}`),
    );
    expect([...seen]).toEqual([expect.stringMatching(/^404 text\/plain/)]);
    expect(textOf(await mine.call('one_tool', { text: 'alive' }))).toBe('tool alive');
  });
});

describe('concurrent requests with the same JSON-RPC id', () => {
  const slow = () =>
    gatewayOverOne({
      methods: {
        'tools/call': (exchange) => {
          const ms = Number(argumentOf(exchange.message.params, 'ms'));
          setTimeout(() => {
            exchange.result(echoOf(exchange.message));
          }, ms);
        },
      },
    });

  it('of two sessions each get their own answer', async () => {
    const { vmcp } = await slow();
    const sessions = [await openSession(vmcp.url), await openSession(vmcp.url)];
    const answers = await Promise.all(
      sessions.map(async (session, index) => {
        const body = toolCall(7, 'one_tool', { text: `of ${String(index)}`, ms: index === 0 ? 300 : 50 });
        return textOf(rpcReply(await post(vmcp.url, session, body)));
      }),
    );
    expect(answers).toEqual(['tool of 0', 'tool of 1']);
  });

  it('of one session each get their own answer, on their own connection', async () => {
    const { vmcp } = await slow();
    const session = await openSession(vmcp.url);
    const answers = await Promise.all(
      [0, 1, 2].map(async (index) => {
        const reply = await post(
          vmcp.url,
          session,
          toolCall('same', 'one_tool', { text: `${index}`, ms: 200 - index * 80 }),
        );
        return { id: (JSON.parse(reply.body) as Message).id, text: textOf(rpcReply(reply)) };
      }),
    );
    expect(answers).toEqual([0, 1, 2].map((index) => ({ id: 'same', text: `tool ${index}` })));
  });
});

/** Answers like a server that has lost the session. */
function forget(res: ServerResponse, id: unknown, status = 404, message = 'Session not found'): void {
  res.writeHead(status, { 'content-type': 'application/json' });
  res.end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32001, message } }));
}

describe('a backend that has lost its sessions', () => {
  it.each([404, 400, 409, 410])('and answers %i is initialized once for fifty waiting calls', async (status) => {
    const { vmcp, backend } = await gatewayOverOne();
    const session = await openSession(vmcp.url);
    expect(textOf(await session.call('one_tool', { text: 'first' }))).toBe('tool first');
    const before = backend.count('initialize');
    const old = new Set(backend.sessions);
    backend.intercept = ({ session: id, res }) => {
      if (!old.has(id ?? '')) return false;
      res.writeHead(status).end();
      return true;
    };
    const calls = Array.from({ length: 50 }, (_, n) => session.call('one_tool', { text: String(n) }));
    expect((await Promise.all(calls)).map(textOf)).toEqual(Array.from({ length: 50 }, (_, n) => `tool ${String(n)}`));
    expect(backend.count('initialize')).toBe(before + 1);
  });

  /** Such an error has the id of the call, like a reply. */
  it.each([
    [404, 'Session not found'],
    [400, 'Bad Request: No valid session ID provided'],
    [409, 'Conflict'],
  ])('and answers the call with %i and "%s" is initialized once for a hundred calls', async (status, why) => {
    const { vmcp, backend } = await gatewayOverOne();
    const session = await openSession(vmcp.url);
    await session.call('one_tool');
    const before = backend.count('initialize');
    const old = new Set(backend.sessions);
    backend.intercept = ({ session: id, message, res }) => {
      if (!old.has(id ?? '')) return false;
      forget(res, message.id, status, why);
      return true;
    };
    const calls = Array.from({ length: 100 }, (_, n) => session.call('one_tool', { text: String(n) }));
    const texts = Array.from({ length: 100 }, (_, n) => `tool ${String(n)}`);
    expect((await Promise.all(calls)).map(textOf)).toEqual(texts);
    expect(backend.count('initialize')).toBe(before + 1);
    // A call that waited until the new session was open is sent once.
    expect(backend.count('tools/call')).toBeGreaterThan(1 + 100);
    expect(backend.count('tools/call')).toBeLessThanOrEqual(1 + 2 * 100);
  });

  it('keeps its session when it answers a call with a 400 of another meaning', async () => {
    const { vmcp, backend } = await gatewayOverOne();
    const session = await openSession(vmcp.url);
    await session.call('one_tool');
    const [initialized, called] = [backend.count('initialize'), backend.count('tools/call')];
    const error = { code: -32602, message: 'argument "session" is missing', data: { at: 1 } };
    backend.intercept = ({ message: { id, method }, res }) => {
      if (method !== 'tools/call') return false;
      res.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, error }));
      return true;
    };
    expect((await session.call('one_tool')).error).toEqual(error);
    expect([backend.count('initialize'), backend.count('tools/call')]).toEqual([initialized, called + 1]);
  });

  it('after every call still works: each call is repeated at most once', async () => {
    const { vmcp, backend } = await gatewayOverOne();
    const session = await openSession(vmcp.url);
    const used = new Set<string | undefined>();
    backend.intercept = ({ session: id, message, res }) => {
      if (message.method !== 'tools/call') return false;
      if (!used.has(id)) {
        used.add(id);
        return false;
      }
      forget(res, message.id);
      return true;
    };
    for (const text of ['a', 'b', 'c']) expect(textOf(await session.call('one_tool', { text }))).toBe(`tool ${text}`);
    const sent = backend.count('tools/call');
    expect(sent).toBe(1 + 2 * 2);
    // a session that answers one call cannot serve ten concurrent calls: the others fail after one retry
    const together = await Promise.all(Array.from({ length: 10 }, () => session.call('one_tool', { text: 'd' })));
    expect(new Set(together.map(textOf))).toEqual(new Set(['tool d', 'backend "one" is unavailable']));
    expect(backend.count('tools/call')).toBeLessThanOrEqual(sent + 2 * 10);
    expect(textOf(await session.call('one_tool', { text: 'e' }))).toBe('tool e');
  });

  it('does not get a call again after its stream has begun', async () => {
    const { vmcp, backend } = await gatewayOverOne();
    const session = await openSession(vmcp.url);
    await session.call('one_tool');
    let executed = 0;
    backend.intercept = ({ message, req, send }) => {
      if (message.method !== 'tools/call') return false;
      executed += 1;
      send(notify('notifications/message', { level: 'info', data: 'begun' }), 'e1');
      setTimeout(() => {
        backend.sessions.clear();
        req.socket.resetAndDestroy();
      }, 50);
      return true;
    };
    const reply = await session.call('one_tool');
    expect(textOf(reply)).toBe('backend "one" is unavailable');
    backend.intercept = undefined;
    expect(executed).toBe(1);
    expect(textOf(await session.call('one_tool', { text: 'new session' }))).toBe('tool new session');
  });

  it('does not get a call again after its stream broke without a message', async () => {
    const { vmcp, backend } = await gatewayOverOne();
    const session = await openSession(vmcp.url);
    await session.call('one_tool');
    let executed = 0;
    backend.intercept = ({ message, res }) => {
      if (message.method !== 'tools/call') return false;
      executed += 1;
      res.writeHead(200, { 'content-type': 'text/event-stream' }).write('id: e1\ndata: \n\n');
      backend.sessions.clear();
      setTimeout(() => res.destroy(), 50);
      return true;
    };
    const reply = await session.call('one_tool');
    expect({ text: textOf(reply), executed }).toEqual({ text: 'backend "one" is unavailable', executed: 1 });
  });

  it('gets the subscriptions of the client again', async () => {
    const uri = 'a:b';
    const { vmcp, backend } = await gatewayOverOne({
      capabilities: { tools: {}, resources: { subscribe: true } },
      methods: {
        'resources/list': ({ result }) => {
          result({ resources: [{ uri, name: 'b' }] });
        },
        'resources/templates/list': ({ result }) => {
          result({ resourceTemplates: [] });
        },
        'resources/subscribe': ({ result }) => {
          result({});
        },
      },
    });
    const session = await openSession(vmcp.url);
    expect((await session.request('resources/subscribe', { uri })).result).toEqual({});
    expect(backend.count('resources/subscribe')).toBe(1);
    backend.sessions.clear();
    await session.call('one_tool');
    await eventually('the new session is subscribed', () => backend.count('resources/subscribe') === 2);
  });
});

describe('cancellation', () => {
  const hanging = { tools: {}, logging: {} };

  it('by the client reaches the backend with the forwarded id, and ends the POST', async () => {
    const { vmcp, backend } = await gatewayOverOne({
      capabilities: hanging,
      methods: { 'tools/call': () => undefined },
    });
    const session = await openSession(vmcp.url);
    const call = openPost(vmcp.url, session, toolCall('mine', 'one_tool'));
    const seen = () => backend.seen.find(({ method }) => method === 'tools/call');
    const { body } = await eventually('the backend has the call', () => seen());
    const { id } = JSON.parse(body) as { id: number };
    await post(vmcp.url, session, notify('notifications/cancelled', { requestId: 'mine', reason: 'enough' }));
    const answer = await call;
    await eventually('the POST ends', () => answer.ended());
    expect(answer.messages).toEqual([]);
    await eventually('the backend has the cancellation', () =>
      backend.received.some(
        ({ message: { method, params } }) => method === 'notifications/cancelled' && params?.['requestId'] === id,
      ),
    );
  });

  it('ends the POST at once while the backend is being opened', async () => {
    const { vmcp, backend } = await gatewayOverOne();
    const session = await openSession(vmcp.url);
    await session.tools();
    backend.intercept = ({ message }) => message.method === 'initialize';
    const call = openPost(vmcp.url, session, toolCall(5, 'one_tool'));
    await eventually('it is being opened', () => backend.count('initialize') > 1);
    const began = performance.now();
    await post(vmcp.url, session, notify('notifications/cancelled', { requestId: 5 }));
    const answer = await call;
    await eventually('the POST ends', () => answer.ended());
    expect(performance.now() - began).toBeLessThan(10_000);
    expect(answer.messages).toEqual([]);
  });

  it('at the end of the session reaches the backend, whose session ends too', async () => {
    const { vmcp, backend } = await gatewayOverOne({ methods: { 'tools/call': () => undefined } });
    const session = await openSession(vmcp.url);
    const call = openPost(vmcp.url, session, toolCall(1, 'one_tool'));
    await eventually('the backend has the call', () => backend.count('tools/call') === 1);
    expect(backend.sessions.size).toBe(2);
    expect((await session.end()).status).toBe(204);
    await eventually('the POST ends', async () => (await call).ended());
    await eventually('the session at the backend ended', () => backend.sessions.size === 1);
    await eventually('the backend has the cancellation', () =>
      backend.received.some(({ message }) => message.method === 'notifications/cancelled'),
    );
  });

  it('follows the loss of a connection that cannot be resumed, and keeps the session', async () => {
    const { vmcp, backend } = await gatewayOverOne({ methods: { 'tools/call': () => undefined } });
    const session = await openSession(vmcp.url);
    await raw(vmcp.url, {
      method: 'POST',
      headers: session.headers,
      body: JSON.stringify(toolCall(2, 'one_tool')),
      timeoutMs: 1_500,
    }).catch(() => undefined);
    expect((await session.request('ping')).result).toEqual({});
    expect(backend.count('tools/call')).toBe(1);
    await eventually('the backend has the cancellation', () =>
      backend.received.some(({ message }) => message.method === 'notifications/cancelled'),
    );
    await session.end();
  });
});

describe('a lost stream', () => {
  it('of a call is resumed by Last-Event-ID with the reply', async () => {
    const { vmcp } = await gatewayOverOne({
      capabilities: { tools: {}, logging: {} },
      methods: {
        'tools/call': ({ send, result, message }) => {
          send(notify('notifications/message', { level: 'info', data: 'begun' }));
          setTimeout(() => {
            send(notify('notifications/message', { level: 'info', data: 'missed' }));
            result(echoOf(message));
          }, 500);
        },
      },
    });
    const session = await openSession(vmcp.url);
    const call = await openPost(vmcp.url, session, toolCall(9, 'one_tool', { text: 'late' }));
    await eventually('the stream has begun', () => call.messages.length === 1);
    const after = call.lastEventId();
    call.drop();
    await new Promise((resolve) => setTimeout(resolve, 800));
    const rest = await openGet(vmcp.url, session, after);
    await eventually('the stream ends after the reply', () => rest.ended());
    expect(rest.messages).toMatchObject([
      { params: { data: 'missed' } },
      { id: 9, result: { content: [{ text: 'tool late' }] } },
    ]);
  });

  it('of a call can be resumed before the reply, which then arrives there', async () => {
    const { vmcp } = await gatewayOverOne({
      methods: {
        'tools/call': ({ send, result, message }) => {
          send(notify('notifications/message', { level: 'info', data: 'begun' }));
          setTimeout(() => {
            result(echoOf(message));
          }, 1_000);
        },
      },
    });
    const session = await openSession(vmcp.url);
    const call = await openPost(vmcp.url, session, toolCall(9, 'one_tool', { text: 'late' }));
    await eventually('the stream has begun', () => call.messages.length === 1);
    call.drop();
    const rest = await openGet(vmcp.url, session, call.lastEventId());
    await eventually('the reply has arrived', () => rest.messages.length === 1);
    expect(rest.messages).toMatchObject([{ id: 9 }]);
  });

  it('of the session is resumed with all missed messages, including list changes', async () => {
    const { vmcp, backend } = await gatewayOverOne({ capabilities: { tools: { listChanged: true }, logging: {} } });
    const session = await openSession(vmcp.url);
    const first = await openGet(vmcp.url, session);
    await session.call('one_tool');
    const log = (data: string) => {
      backend.notify('notifications/message', { level: 'info', data });
    };
    await eventually('the backend has two streams', () => backend.streams.size === 2);
    log('seen');
    await eventually('the message arrives', () => first.methods().includes('notifications/message'));
    const after = first.lastEventId();
    first.drop();
    await new Promise((resolve) => setTimeout(resolve, 200));
    log('missed');
    backend.tools = ['tool', 'new'];
    backend.notify('notifications/tools/list_changed');
    await eventually('the new tool is listed', async () => (await session.tools()).length === 2);
    const second = await openGet(vmcp.url, session, after);
    await eventually('list_changed has arrived', () => second.methods().includes('notifications/tools/list_changed'));
    expect(second.messages).toContainEqual(
      expect.objectContaining({ params: { level: 'info', logger: 'one', data: 'missed' } }),
    );
    log('goes on');
    await eventually('later ones arrive', () => second.messages.some(({ params }) => params?.['data'] === 'goes on'));
  });
});

it('does not reconnect in a hot loop to a backend that closes its stream at once with retry: 0', async () => {
  const { vmcp, backend } = await gatewayOverOne(
    {},
    { operational: { ...rarely, timeouts: { default: '20s', perWorkload: { one: '2s' } } } },
  );
  const session = await openSession(vmcp.url);
  await session.call('one_tool');
  backend.intercept = ({ message, res }) => {
    if (message.method !== 'tools/call') return false;
    res.writeHead(200, { 'content-type': 'text/event-stream' }).end('id: e1\nretry: 0\ndata: \n\n');
    return true;
  };
  let asked = 0;
  backend.interceptGet = (req, res) => {
    if (req.headers['last-event-id'] === undefined) return false;
    asked += 1;
    res.writeHead(200, { 'content-type': 'text/event-stream' }).end('id: e1\nretry: 0\ndata: \n\n');
    return true;
  };
  expect(textOf(await session.call('one_tool'))).toBe('backend "one" timed out after 2 s');
  expect(asked).toBeGreaterThan(1);
  expect(asked).toBeLessThan(60);
});
