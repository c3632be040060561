import { describe, expect, it, vi } from 'vitest';
import {
  ALLOW,
  type Decision,
  type ListedItem,
  type Policy,
  type PolicyCall,
  type Viewer,
} from '../../policy/policy.ts';
import { policedServer } from './testdata/policed-server.ts';

const deciding = (decision: Decision): Policy => ({ decide: () => decision });
const DENY: Decision = { verdict: 'deny', reason: 'closed', message: 'the shop is closed' };
const CHALLENGE: Decision = {
  verdict: 'challenge',
  scopes: ['shop:buy', 'shop:read'],
  message: 'buying needs a scope',
};
const BUY = { name: 'shop_buy', arguments: { amount: 2 } };

const DENIED = {
  jsonrpc: '2.0',
  id: 1,
  error: { code: -32003, message: 'the shop is closed', data: { reason: 'closed' } },
};

describe('a policy', () => {
  it('denies a call in a session with 200 and a JSON-RPC error, and the backend does not receive it', async () => {
    const { send, received, ended } = await policedServer(deciding(DENY));
    const response = await send('tools/call', BUY);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual(DENIED);
    expect(received).not.toContain('tools/call');
    const facts = { client: 'shell 2', principal: 'anonymous', backend: 'shop' };
    expect(ended).toEqual([{ ...facts, call: 'tools/call shop_buy', outcome: 'denied', isSent: false }]);
  });

  it('denies a call for some time with Retry-After', async () => {
    const { send } = await policedServer(deciding({ ...DENY, reason: 'rate_limited', retryAfterSeconds: 7 }));
    const response = await send('tools/call', BUY);
    expect([response.status, response.headers.get('retry-after')]).toEqual([200, '7']);
    expect(await response.json()).toMatchObject({
      id: 1,
      error: { code: 429, data: { reason: 'rate_limited', retryAfterSeconds: 7 } },
    });
  });

  it.each<[status: number, decision: Decision, code: number]>([
    [403, DENY, -32003],
    [429, { ...DENY, reason: 'rate_limited', retryAfterSeconds: 7 }, 429],
    [503, { verdict: 'fail', reason: 'webhook_failed', message: 'no answer' }, -32603],
  ])('refuses a request of the revision without sessions with %i', async (status, decision, code) => {
    const { send, sendModern } = await policedServer(deciding(decision));
    const response = await sendModern('tools/call', BUY);
    expect([response.status, await response.json()]).toMatchObject([status, { error: { code } }]);
    const inSession = await send('tools/call', BUY);
    expect([inSession.status, await inSession.json()]).toMatchObject([200, { error: { code } }]);
    expect(inSession.headers.get('retry-after')).toBe(response.headers.get('retry-after'));
  });

  it('challenges a call with insufficient_scope and the scopes it needs', async () => {
    const { send, received } = await policedServer(deciding(CHALLENGE));
    const response = await send('tools/call', BUY);
    expect(response.status).toBe(403);
    const header = response.headers.get('www-authenticate');
    expect(header).toContain('error="insufficient_scope"');
    expect(header).toContain('scope="shop:buy shop:read"');
    expect(header).toContain('error_description="buying needs a scope"');
    expect(received).not.toContain('tools/call');
    expect((await send('ping', {})).status).toBe(200);
  });

  it('reads client, principal, item, method, backend, arguments and session of every kind of call', async () => {
    const seen: unknown[] = [];
    const policy: Policy = {
      decide: ({ session, method, name, backend, identity, arguments: args }: PolicyCall) => {
        const { id, principal, revision, client } = session;
        seen.push({ id, principal, revision, client, identity, backend, call: [method, name, args?.toString()] });
        return ALLOW;
      },
    };
    const { read } = await policedServer(policy);
    const ref = { type: 'ref/prompt', name: 'shop_greet' };
    await read('tools/call', BUY);
    await read('prompts/get', { name: 'shop_greet', arguments: { tone: 'warm' } });
    await read('resources/read', { uri: 'shop:///stock' });
    await read('resources/subscribe', { uri: 'shop:///stock' });
    await read('resources/unsubscribe', { uri: 'shop:///stock' });
    await read('completion/complete', { ref, argument: { name: 'tone', value: 'w' }, arguments: { forged: true } });
    const facts = {
      id: 'session-1',
      principal: 'anonymous',
      revision: '2025-11-25',
      client: { name: 'shell', version: '2' },
      identity: undefined,
      backend: 'shop',
    };
    expect(seen).toEqual(
      [
        ['tools/call', 'shop_buy', '{"amount":2}'],
        ['prompts/get', 'shop_greet', '{"tone":"warm"}'],
        ['resources/read', 'shop:///stock', undefined],
        ['resources/subscribe', 'shop:///stock', undefined],
        ['resources/unsubscribe', 'shop:///stock', undefined],
        ['completion/complete', 'shop_greet', undefined],
      ].map((call) => ({ ...facts, call })),
    );
  });

  it('removes the subscription when it denies the request', async () => {
    const { read, virtual } = await policedServer(deciding(DENY));
    expect(await read('resources/subscribe', { uri: 'shop:///stock' })).toEqual(DENIED);
    expect([...virtual.sessions.all()][0]?.subscriptions.has('shop:///stock')).toBe(false);
  });

  it('omits items from the lists of a principal', async () => {
    const viewers: Viewer[] = [];
    const policy: Policy = {
      decide: () => ALLOW,
      isListed: ({ kind, name, backend }: ListedItem, { principal, identity }) => {
        viewers.push({ principal, identity });
        return !['tools shop_fail shop', 'prompts shop_greet shop', 'resources shop:///stock shop'].includes(
          `${kind} ${name} ${backend}`,
        );
      },
    };
    const { read } = await policedServer(policy);
    const tools = [expect.objectContaining({ name: 'shop_buy' }), expect.objectContaining({ name: 'shop_long' })];
    expect(await read('tools/list')).toMatchObject({ result: { tools } });
    expect(await read('prompts/list')).toMatchObject({ result: { prompts: [] } });
    expect(await read('resources/list')).toMatchObject({ result: { resources: [] } });
    expect(viewers[0]).toEqual({ principal: 'anonymous', identity: undefined });
  });

  it('ends the subscriptions that it denies after a change of the configuration', async () => {
    let isOpen = true;
    const { read, virtual } = await policedServer({ decide: () => ALLOW, isListed: () => isOpen });
    expect(await read('resources/subscribe', { uri: 'shop:///stock' })).toMatchObject({ result: {} });
    const isSubscribed = () => [...virtual.sessions.all()][0]?.subscriptions.has('shop:///stock');
    virtual.swap(virtual.config);
    expect(isSubscribed()).toBe(true);
    isOpen = false;
    virtual.swap(virtual.config);
    expect(isSubscribed()).toBe(false);
  });

  it('is asked about a subscribed resource as it is listed, when another token is used and after a change', async () => {
    const asked: unknown[] = [];
    const isListed: Policy['isListed'] = ({ kind, name, json }) => {
      if (kind === 'resources') asked.push([name, json !== undefined]);
      return json !== undefined;
    };
    const { read, virtual } = await policedServer({ decide: () => ALLOW, isListed });
    await read('resources/subscribe', { uri: 'shop:///stock' });
    asked.length = 0;
    await read('tools/call', BUY);
    await read('tools/call', BUY);
    expect(asked).toEqual([['shop:///stock', true]]);
    virtual.swap(virtual.config);
    expect([...virtual.sessions.all()][0]?.subscriptions.has('shop:///stock')).toBe(true);
  });

  it('denies the call when it throws or rejects', async () => {
    const thrower: Policy = {
      decide: () => {
        throw new Error('bug');
      },
    };
    const rejecter: Policy = { decide: () => Promise.reject(new Error('bug')) };
    for (const policy of [thrower, rejecter]) {
      const { send, received } = await policedServer(policy);
      const response = await send('tools/call', BUY);
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({ error: { code: -32003, data: { reason: 'policy_failed' } } });
      expect(received).not.toContain('tools/call');
    }
  });

  it('decides again with the arguments that a later policy has set, if it reads arguments', async () => {
    const decided: string[] = [];
    const seeing = (name: string, readsArguments: boolean, limit: number): Policy => ({
      readsArguments,
      decide: ({ arguments: args }) => {
        decided.push(`${name} ${String(args)}`);
        const { amount } = JSON.parse(String(args)) as { amount: number };
        return amount <= limit ? ALLOW : DENY;
      },
    });
    const setting: Policy = { decide: () => ({ verdict: 'allow', arguments: Buffer.from('{"amount":9}') }) };
    const { read, received } = await policedServer(seeing('reader', true, 5), seeing('other', false, 5), setting, {
      decide: () => DENY,
    });
    expect(await read('tools/call', BUY)).toEqual(DENIED);
    expect(decided).toEqual(['reader {"amount":2}', 'other {"amount":2}', 'reader {"amount":9}']);
    const open = await policedServer(seeing('reader', true, 9), setting);
    expect(await open.read('tools/call', BUY)).toMatchObject({ result: { content: [] } });
    expect(received).not.toContain('tools/call');
  });

  it('limits the size of the reply', async () => {
    const { read } = await policedServer(deciding({ verdict: 'allow', maxReplyBytes: 1_000 }), deciding(ALLOW));
    expect(await read('tools/call', BUY)).toMatchObject({ result: { content: [] } });
    expect(await read('tools/call', { name: 'shop_long' })).toMatchObject({ result: { isError: true } });
  });

  it('may decide asynchronously and is aborted when the client disconnects', async () => {
    const asked = Promise.withResolvers<PolicyCall>();
    const policy: Policy = {
      decide: (call) => {
        asked.resolve(call);
        return new Promise<Decision>((_resolve, reject) => {
          call.signal.addEventListener('abort', () => {
            reject(new Error('aborted'));
          });
        });
      },
    };
    const { send, received, ended, virtual } = await policedServer(policy);
    const leave = new AbortController();
    const response = send('tools/call', BUY, leave.signal);
    const { signal } = await asked.promise;
    expect(virtual.runningCalls).toBe(1);
    leave.abort();
    await expect(response).rejects.toThrow();
    await vi.waitFor(() => {
      expect(signal.aborted).toBe(true);
    });
    expect(virtual.runningCalls).toBe(0);
    expect(ended.map(({ outcome }) => outcome)).toEqual(['cancelled']);
    expect(received).not.toContain('tools/call');
  });
});

describe('several policies', () => {
  it('decide in order until one does not allow the call', async () => {
    const decided: string[] = [];
    const named = (name: string, decision: Decision | Promise<Decision>): Policy => ({
      decide: () => {
        decided.push(name);
        return decision;
      },
    });
    const { read } = await policedServer(
      named('first', ALLOW),
      named('slow', Promise.resolve(ALLOW)),
      named('denying', DENY),
      named('never', ALLOW),
    );
    expect(await read('tools/call', BUY)).toEqual(DENIED);
    expect(decided).toEqual(['first', 'slow', 'denying']);
  });

  it('allow a call that each of them allows', async () => {
    const { read } = await policedServer(deciding(ALLOW), { decide: () => Promise.resolve(ALLOW) });
    expect(await read('tools/call', BUY)).toMatchObject({ result: { content: [] } });
  });
});

describe('a server without policies', () => {
  it('serves the shared lists and reports every call with its outcome', async () => {
    const { read, virtual, ended } = await policedServer();
    const list = virtual.views.shared;
    expect(await read('tools/list')).toMatchObject({ result: { tools: [{}, {}, {}] } });
    const [session] = virtual.sessions.all();
    if (!session) throw new Error('no session');
    expect(virtual.views.listed(session)).toBe(list.current);
    await read('tools/call', BUY);
    await read('tools/call', { name: 'shop_fail' });
    await read('prompts/get', { name: 'shop_greet' });
    const facts = { client: 'shell 2', principal: 'anonymous', backend: 'shop', isSent: true };
    expect(ended).toEqual([
      { ...facts, call: 'tools/call shop_buy', outcome: 'ok' },
      { ...facts, call: 'tools/call shop_fail', outcome: 'tool_error' },
      { ...facts, call: 'prompts/get shop_greet', outcome: 'error' },
    ]);
  });
});
