import { afterEach, describe, expect, it } from 'vitest';
import { createLogger } from 'winston';
import { DISCOVERY, type BackendFailure } from './channel.ts';
import type { Isolation } from './isolation.ts';
import { JsonRpcPeer, type Lane } from './json-rpc-peer.ts';

const log = createLogger({ silent: true });
const peers: JsonRpcPeer[] = [];
afterEach(() => {
  for (const peer of peers.splice(0)) peer.close({ kind: 'unavailable', detail: 'the test has ended' });
});

/** Creates a peer and records the texts it sends and the messages it delivers, each line with its receiver. */
function connection(isolation: Isolation = 'session') {
  const sent: string[] = [];
  const got: string[] = [];
  const peer = new JsonRpcPeer({
    backend: 'b',
    isolation,
    log,
    wire: { request: (text) => sent.push(text.toString()), notify: (text) => sent.push(text.toString()) },
  });
  peers.push(peer);
  const lane = (name: string): Lane => {
    const joined: Lane = { owner: name, onMessage: (_, { method }) => got.push(`${name} < ${method ?? ''}`) };
    peer.join(joined);
    return joined;
  };
  const call = (on: Lane, name: string, params?: string, options: { method?: string; timeoutMs?: number } = {}) =>
    peer.call(
      on,
      {
        method: 'tools/call',
        params: params ? Buffer.from(params) : undefined,
        id: Buffer.from(`"${name}"`),
        timeoutMs: 60_000,
        ...options,
      },
      {
        reply: (text) => got.push(`${name} = ${text.toString()}`),
        message: (text, { method, params: span }) =>
          got.push(`${name} < ${method ?? ''} ${span ? text.toString('utf8', span.start, span.end) : ''}`.trimEnd()),
        fail: ({ kind }: BackendFailure) => got.push(`${name} ! ${kind}`),
      },
    );
  return { peer, sent, got, lane, call, receive: (text: string) => peer.receive(Buffer.from(text)) };
}
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('a call', () => {
  it('is sent with an id of the gateway and returned with the client’s, otherwise byte for byte', () => {
    const { sent, got, lane, call, receive } = connection();
    call(lane('A'), 'x', '{"name":"t","n":1.0}');
    expect(sent).toEqual(['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","n":1.0}}']);
    receive(' {"result": {"n":1.0e2,"big":12345678901234567890}, "id" : 1 ,"jsonrpc":"2.0"}');
    expect(got).toEqual(['x = {"result": {"n":1.0e2,"big":12345678901234567890}, "id" : "x" ,"jsonrpc":"2.0"}']);
  });

  it.each([
    ['an unknown id', '{"jsonrpc":"2.0","id":2,"result":{"v":1}}'],
    ['our id with other characters', '{"jsonrpc":"2.0","id":"1a","result":{"v":1}}'],
    ['an empty id', '{"jsonrpc":"2.0","id":"","result":{"v":1}}'],
    ['no id', '{"jsonrpc":"2.0","error":{"code":-32700,"message":"?"}}'],
    ['the id null', '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}'],
    ['text that is not JSON', 'Server listening on 3000'],
    ['half of a reply', '{"jsonrpc":"2.0","id":1,"resu'],
    ['a nested batch', '[[{"jsonrpc":"2.0","id":1,"result":{"v":1}}]]'],
  ])('is not answered by a message with %s', (_, text) => {
    const { got, lane, call, receive } = connection();
    call(lane('A'), 'x');
    receive(text);
    expect(got).toEqual([]);
    receive('{"jsonrpc":"2.0","id":1,"result":{"v":1}}');
    receive('{"jsonrpc":"2.0","id":1,"result":{"v":2}}');
    expect(got).toEqual(['x = {"jsonrpc":"2.0","id":"x","result":{"v":1}}']);
  });

  it.each([
    ['as text', '{"jsonrpc":"2.0","id":"1","result":{"v":1}}'],
    ['as a fraction', '{"jsonrpc":"2.0","id":1.0,"result":{"v":1}}'],
    ['behind a byte order mark', '\uFEFF{"jsonrpc":"2.0","id":1,"result":{"v":1}}'],
  ])('is answered by a reply with our id %s', (_, text) => {
    const { got, lane, call, receive } = connection();
    call(lane('A'), 'x');
    receive(text);
    expect(got).toEqual(['x = {"jsonrpc":"2.0","id":"x","result":{"v":1}}']);
  });

  it.each([
    ['a duplicate key', '{"jsonrpc":"2.0","id":1,"result":{"v":1},"result":{"v":2}}'],
    ['keys that differ by case', '{"jsonrpc":"2.0","id":1,"result":{"v":1},"ID":2}'],
    ['neither result nor error', '{"jsonrpc":"2.0","id":1}'],
    ['too much depth', `{"jsonrpc":"2.0","id":1,"result":${'['.repeat(250)}${']'.repeat(250)}}`],
    ['another version', '{"jsonrpc":"1.0","id":1,"result":{"v":1}}'],
  ])('fails at once when its reply has %s', (_, text) => {
    const { got, lane, call, receive } = connection();
    call(lane('A'), 'x');
    receive(text);
    expect(got).toEqual(['x ! garbage']);
  });

  it('that is cancelled or times out is cancelled at the backend, and its late reply is ignored', async () => {
    const { sent, got, lane, call, receive } = connection();
    const a = lane('A');
    const handle = call(a, 'x');
    handle.cancel('gone "away"');
    handle.cancel('again');
    call(a, 'y', undefined, { timeoutMs: 5 });
    await new Promise((resolve) => setTimeout(resolve, 30));
    receive('{"jsonrpc":"2.0","id":1,"result":{"v":1}}');
    receive('{"jsonrpc":"2.0","id":2,"result":{"v":1}}');
    expect(got).toEqual(['x ! cancelled', 'y ! timeout']);
    const cancelled = (id: number, reason: string) => ({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: id, reason },
    });
    expect(sent.filter((text) => text.includes('cancelled')).map((text) => JSON.parse(text) as unknown)).toEqual([
      cancelled(1, 'gone "away"'),
      cancelled(2, 'timed out'),
    ]);
  });

  it('of initialize is never cancelled at the backend', () => {
    const { sent, got, lane, call } = connection();
    call(lane('A'), 'x', undefined, { method: 'initialize' }).cancel('no');
    expect(got).toEqual(['x ! cancelled']);
    expect(sent).toHaveLength(1);
  });

  it('fails when the connection closes; a later call fails after it has returned its handle', async () => {
    const { peer, sent, got, lane, call } = connection();
    const a = lane('A');
    call(a, 'x');
    peer.close({ kind: 'unavailable', detail: '' });
    expect(got).toEqual(['x ! unavailable']);
    call(a, 'y');
    call(a, 'z').cancel('changed my mind');
    expect(got).toEqual(['x ! unavailable', 'z ! cancelled']);
    await settled();
    expect(got).toEqual(['x ! unavailable', 'z ! cancelled', 'y ! unavailable']);
    peer.send(Buffer.from('{}'));
    expect(sent).toHaveLength(1);
  });

  it('of a lane that left is cancelled, those of other lanes continue', async () => {
    const { peer, got, lane, call, receive } = connection('shared');
    const [a, b] = [lane('A'), lane('B')];
    call(a, 'x');
    call(b, 'y');
    peer.leave(a);
    call(a, 'z');
    await settled();
    receive('{"jsonrpc":"2.0","id":2,"result":{"v":1}}');
    expect(got).toEqual(['x ! cancelled', 'z ! unavailable', 'y = {"jsonrpc":"2.0","id":"y","result":{"v":1}}']);
  });
});

describe('progress tokens', () => {
  const tokenOf = (text: string | undefined) =>
    (JSON.parse(text ?? '') as { params: { _meta?: { progressToken?: unknown } } }).params._meta?.progressToken;

  it.each([
    ['a string', '"t"'],
    ['a number', '1'],
    ['a string with escapes', '"\\u0041\\n"'],
  ])('that are %s are replaced on the way to the backend and restored on the way back', (_, token) => {
    const { sent, got, lane, call, receive } = connection();
    call(lane('A'), 'first');
    call(lane('A'), 'x', `{"_meta":{"a":1,"progressToken":${token}},"name":"t"}`);
    expect(tokenOf(sent[1])).toBe(2);
    expect(sent[1]).toContain('"a":1');
    receive(
      '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":0.50,"progressToken":2,"more":[]}}',
    );
    expect(got).toEqual([`x < notifications/progress {"progress":0.50,"progressToken":${token},"more":[]}`]);
  });

  it('are restored when the backend repeats them as text', () => {
    const { got, lane, call, receive } = connection();
    call(lane('A'), 'x', '{"_meta":{"progressToken":"t"}}');
    receive('{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"1"}}');
    expect(got).toEqual(['x < notifications/progress {"progressToken":"t"}']);
  });

  it('are found under escaped keys too', () => {
    const { sent, lane, call } = connection();
    call(lane('A'), 'x', '{"\\u005fmeta":{"progress\\u0054oken":"t"}}');
    expect(tokenOf(sent[0])).toBe(1);
  });

  it.each([
    ['twice', '"progressToken":7,"progressToken":"t"', '"progressToken":2,"progressToken":2'],
    [
      'three times',
      '"progressToken":"a","b":{},"progressToken":77, "progressToken" : "t"',
      '"progressToken":2,"b":{},"progressToken":2, "progressToken" : 2',
    ],
    [
      'in two spellings',
      '"PROGRESSTOKEN":7,"progre\\u0053sTo\u212Aen":"t"',
      '"PROGRESSTOKEN":2,"progre\\u0053sTo\u212Aen":2',
    ],
    ['in another case only', '"ProgressToken":"t"', '"ProgressToken":2'],
  ])('that occur %s are all replaced, so that none is that of another client', (_, members, owned) => {
    const { sent, got, lane, call, receive } = connection();
    const a = lane('A');
    call(a, 'first');
    call(a, 'x', ` {"name":"t","_meta":{${members}}}`);
    expect(sent[1]).toContain(`"params":{"name":"t","_meta":{${owned}}}`);
    receive('{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2}}');
    expect(got).toEqual(['x < notifications/progress {"progressToken":"t"}']);
  });

  it.each([
    '{"name":"_meta"}',
    '{"_meta":{}}',
    '{"_meta":null}',
    '{"_meta":{"progressTokens":1,"my/progressToken":1}}',
    '{"arguments":{"_meta":{"progressToken":1}}}',
    '[]',
  ])('are not detected in params without a token: %s', (params) => {
    const { sent, lane, call } = connection();
    call(lane('A'), 'x', params);
    expect(sent[0]).toContain(`"params":${params}}`);
  });

  it('that are unknown, of a finished call, or of a call without one are dropped', () => {
    const { got, lane, call, receive } = connection();
    const a = lane('A');
    call(a, 'x', '{"_meta":{"progressToken":"t"}}');
    call(a, 'y');
    receive('{"jsonrpc":"2.0","id":1,"result":{"v":1}}');
    got.length = 0;
    for (const params of ['{"progressToken":1}', '{"progressToken":2}', '{"progressToken":9}', '{}', '[]', '1'])
      receive(`{"jsonrpc":"2.0","method":"notifications/progress","params":${params}}`);
    receive('{"jsonrpc":"2.0","method":"notifications/progress"}');
    expect(got).toEqual([]);
  });
});

describe('messages of the backend', () => {
  const LOG = '{"jsonrpc":"2.0","method":"notifications/message"}';
  const ASK = '{"jsonrpc":"2.0","id":"q","method":"elicitation/create"}';
  const REFUSAL = '{"jsonrpc":"2.0","id":"q","error":{"code":-32601,"message":"Method not found"}}';
  const CHANGED = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}';

  it('are delivered to the call that started last, or to the owner when no call runs', () => {
    const { got, lane, call, receive } = connection();
    const a = lane('A');
    receive(LOG);
    receive(ASK);
    call(a, 'x');
    call(a, 'y');
    receive(LOG);
    receive(ASK);
    receive('{"jsonrpc":"2.0","id":2,"result":{"v":1}}');
    got.push('--');
    receive(LOG);
    expect(got.filter((line) => !line.includes('='))).toEqual([
      'A < notifications/message',
      'A < elicitation/create',
      'y < notifications/message',
      'y < elicitation/create',
      '--',
      'x < notifications/message',
    ]);
  });

  it('are never delivered to a ping or the handshake', () => {
    const { got, lane, call, receive } = connection();
    call(lane('A'), 'x', undefined, { method: 'ping' });
    receive(LOG);
    expect(got).toEqual(['A < notifications/message']);
  });

  it('about a subscription are delivered to the request that they name, with any isolation, and to no other', () => {
    const { got, lane, call, receive } = connection('shared');
    const about = (method: string, id: unknown): void => {
      const _meta = { 'io.modelcontextprotocol/subscriptionId': id };
      receive(JSON.stringify({ jsonrpc: '2.0', method, params: { _meta } }));
    };
    call(lane('A'), 'x');
    call(lane('B'), 'y', undefined, { method: 'subscriptions/listen' });
    for (const id of [1, 3, '2', null]) about('notifications/tasks', id);
    receive('{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged"}');
    expect(got).toEqual([]);
    about('notifications/subscriptions/acknowledged', 2);
    about('notifications/tasks', 2);
    expect(got.map((line) => line.split(' {')[0])).toEqual([
      'y < notifications/subscriptions/acknowledged',
      'y < notifications/tasks',
    ]);
  });

  it('end the subscription that they cancel, and no other call', () => {
    const { got, lane, call, receive } = connection('shared');
    const a = lane('A');
    call(a, 'x');
    call(a, 'y', undefined, { method: 'subscriptions/listen' });
    const cancelled = (requestId: unknown): void => {
      const params = { requestId, _meta: { 'io.modelcontextprotocol/subscriptionId': 2 } };
      receive(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params }));
    };
    cancelled(2);
    expect(got).toEqual(['y ! unavailable']);
    got.length = 0;
    for (const id of [1, 2, 3, '1', null]) cancelled(id);
    expect(got).toEqual([]);
  });

  it('about a changed list are delivered to every owner', () => {
    const { got, lane, call, receive } = connection('shared');
    const a = lane('A');
    lane('B');
    call(a, 'x');
    receive(CHANGED);
    expect(got).toEqual(['A < notifications/tools/list_changed', 'B < notifications/tools/list_changed']);
  });

  const UNNAMED = [
    LOG,
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q"}}',
    '{"jsonrpc":"2.0","method":"notifications/of/a/later/revision"}',
    '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}',
    ASK,
  ];

  it.each<[Isolation, 'cancelled' | 'timed out' | 'answered' | 'left']>([
    ['shared', 'cancelled'],
    ['shared', 'timed out'],
    ['shared', 'answered'],
    ['shared', 'left'],
    ['principal', 'cancelled'],
    ['principal', 'timed out'],
    ['principal', 'answered'],
    ['principal', 'left'],
  ])(
    'with isolation %s are not delivered to a session whose call follows a call of another session: %s',
    async (...given) => {
      const [isolation, end] = given;
      const { peer, got, lane, call, receive } = connection(isolation);
      const a = lane('A');
      const first = call(a, 'x', '{"_meta":{"progressToken":"t"}}', { timeoutMs: end === 'timed out' ? 5 : 60_000 });
      if (end === 'cancelled') first.cancel('gone');
      if (end === 'timed out') await new Promise((resolve) => setTimeout(resolve, 30));
      if (end === 'answered') receive('{"jsonrpc":"2.0","id":1,"result":{"v":1}}');
      if (end === 'left') peer.leave(a);
      got.length = 0;
      const b = lane('B');
      for (const text of UNNAMED) receive(text);
      call(b, 'y', '{"_meta":{"progressToken":"t"}}');
      for (const text of UNNAMED) receive(text);
      expect(got).toEqual([]);
      receive('{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2}}');
      expect(got).toEqual(['y < notifications/progress {"progressToken":"t"}']);
    },
  );

  it('are dropped with isolation shared, even with one client', () => {
    const { got, lane, call, receive } = connection('shared');
    const a = lane('A');
    receive(LOG);
    call(a, 'x');
    receive(LOG);
    expect(got).toEqual([]);
  });

  it('are delivered to the only session with isolation principal, even after it reconnects', () => {
    const { peer, got, lane, call, receive } = connection('principal');
    call(lane(DISCOVERY), 'own', undefined, { method: 'tools/list' });
    const before = lane('A');
    call(before, 'x');
    receive(LOG);
    peer.leave(before);
    lane('A');
    receive(LOG);
    expect(got.filter((line) => line.includes('<'))).toEqual([
      'x < notifications/message',
      'A < notifications/message',
    ]);
    lane('B');
    receive(LOG);
    expect(got.filter((line) => line.includes('<'))).toHaveLength(2);
  });

  it('are never delivered to the gateway’s own channel', () => {
    const { sent, got, lane, call, receive } = connection('session');
    call(lane(DISCOVERY), 'x', undefined, { method: 'tools/list' });
    receive(LOG);
    receive(ASK);
    expect(got).toEqual([]);
    expect(sent.at(-1)).toBe(REFUSAL);
  });

  it.each<Isolation>(['shared', 'principal'])('that are requests are rejected with isolation %s', (isolation) => {
    const { sent, got, lane, call, receive } = connection(isolation);
    const a = lane('A');
    receive(ASK);
    call(a, 'x');
    receive(ASK);
    expect(sent.filter((text) => text === REFUSAL)).toHaveLength(2);
    expect(got).toEqual([]);
  });

  it('that are requests without a client are rejected', () => {
    const { sent, receive } = connection();
    receive(ASK);
    expect(sent).toEqual([REFUSAL]);
  });

  it('may arrive as a batch', () => {
    const { sent, got, lane, call, receive } = connection();
    call(lane('A'), 'x');
    receive(`[${LOG}, {"jsonrpc":"2.0","id":7,"method":"ping"}, {"jsonrpc":"2.0","id":1,"result":{"v":1}}]`);
    expect(got).toEqual(['x < notifications/message', 'x = {"jsonrpc":"2.0","id":"x","result":{"v":1}}']);
    expect(sent.at(-1)).toBe('{"jsonrpc":"2.0","id":7,"result":{}}');
  });
});
