import { createHmac } from 'node:crypto';
import { describe, expect, it, vi } from 'vitest';
import { policedServer } from '../../vmcp/calls/testdata/policed-server.ts';
import type { Policy } from '../policy.ts';
import type { WebhookConfig } from './config.ts';
import { mutatingWebhooks } from './mutating.ts';
import { setting, webhookWorld, type Received } from './testdata/webhook-world.ts';
import { validatingWebhooks } from './validating.ts';

type World = Awaited<ReturnType<typeof webhookWorld>>;

const BUY = { name: 'shop_buy', arguments: { amount: 2 } };
const ALLOWED = { allowed: true };
const FAILED = { code: -32603, data: { reason: 'webhook_failed' } };
const KEY = 'k'.repeat(32);

const mutating = ({ deps }: World, ...webhooks: WebhookConfig[]): Policy => mutatingWebhooks.create(webhooks, deps);
const validating = ({ deps }: World, ...webhooks: WebhookConfig[]): Policy => validatingWebhooks.create(webhooks, deps);

/** The last body that the backend received for a call, without the names of the transport. */
const sent = (bodies: readonly string[]): unknown => {
  const body = bodies.findLast((each) => each.includes('"tools/call"'));
  return body === undefined ? undefined : (JSON.parse(body) as { params: unknown }).params;
};

describe('a webhook', () => {
  it('receives the call and allows it', async () => {
    const world = await webhookWorld();
    const { received, config } = await world.webhook('audit', () => ALLOWED);
    const { read, bodies } = await policedServer(validating(world, config));
    expect(await read('tools/call', BUY)).toMatchObject({ result: { content: [] } });
    expect(received.map(({ body }) => body)).toEqual([
      {
        version: 'v0.1.0',
        uid: expect.stringMatching(/^[0-9a-f-]{36}$/u) as string,
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/u) as string,
        principal: null,
        context: {
          server_name: 'front',
          namespace: 'team',
          backend_server: 'shop',
          transport: 'streamable-http',
          mcp_revision: '2025-11-25',
          client: { name: 'shell', version: '2' },
        },
        mcp_request: { jsonrpc: '2.0', method: 'tools/call', params: BUY },
      },
    ]);
    expect(sent(bodies)).toEqual({ ...BUY, name: 'buy' });
    expect(world.uses).toEqual([{ name: 'audit', role: 'validating', outcome: 'allowed' }]);
  });

  it('denies a call with its text, and the backend does not receive it', async () => {
    const world = await webhookWorld();
    const { config } = await world.webhook('quota', () => ({ allowed: false, message: 'over\nthe quota' }), {
      failure_policy: 'ignore',
    });
    const { send, received } = await policedServer(validating(world, config));
    const response = await send('tools/call', BUY);
    expect(response.status).toBe(200);
    const message = 'webhook "quota" of the gateway denied the call: over the quota';
    expect(await response.json()).toMatchObject({
      error: { code: -32003, message, data: { reason: 'webhook_denied' } },
    });
    expect(received).not.toContain('tools/call');
  });

  it('reads numbers exactly as the backend does', async () => {
    const world = await webhookWorld();
    const { received, config } = await world.webhook('audit', () => ALLOWED);
    const { send, bodies } = await policedServer(validating(world, config));
    const args = '{"amount":12345678901234567890, "rate":1.0}';
    await send('tools/call', `{"name":"shop_buy","arguments":${args}}`);
    expect(received[0]?.text).toContain(`"arguments":${args}`);
    expect(bodies.at(-1)).toContain(`"arguments":${args}`);
  });

  it('verifies the signature of time and body with the shared key', async () => {
    const world = await webhookWorld();
    const { received, config } = await world.webhook('signed', () => ALLOWED, {
      hmac_secret_ref: await world.file('hmac', `${KEY}\n`),
    });
    const { read } = await policedServer(validating(world, config));
    await read('tools/call', BUY);
    const none: Pick<Received, 'headers' | 'text'> = { headers: {}, text: '' };
    const { headers, text } = received[0] ?? none;
    const time = String(headers['x-webhook-timestamp']);
    expect(Math.abs(Number(time) - Date.now() / 1_000)).toBeLessThan(60);
    const signature = (key: string, body: string): string =>
      `sha256=${createHmac('sha256', key).update(`${time}.${body}`).digest('hex')}`;
    expect(headers['x-webhook-signature']).toBe(signature(KEY, text));
    expect(headers['x-webhook-signature']).not.toBe(signature(`${KEY}x`, text));
    expect(headers['x-webhook-signature']).not.toBe(signature(KEY, text.replace('buy', 'sell')));
  });

  it.each(['ignore', 'fail'])('with a key that is short or missing fails the call: %s', async (failure_policy) => {
    const world = await webhookWorld();
    const policy = failure_policy as 'ignore' | 'fail';
    for (const file of [await world.file('short', 'k'.repeat(31)), '/nonexistent/key']) {
      const { received, config } = await world.webhook('signed', () => ALLOWED, {
        hmac_secret_ref: file,
        failure_policy: policy,
      });
      const { send } = await policedServer(validating(world, config));
      expect((await send('tools/call', BUY)).status).toBe(200);
      expect(received).toEqual([]);
    }
    expect(world.logged.join()).toContain('shorter than 32 bytes');
    expect(world.logged.join()).not.toContain('kkkk');
  });

  it('presents a client certificate, and fails without the one that the server requires', async () => {
    const world = await webhookWorld();
    const mutual = { requestCert: true, rejectUnauthorized: true, ca: world.authority.cert };
    const pair = world.authority.sign('DNS:gateway');
    const certificate = {
      tls_config: {
        ca_bundle_path: world.ca,
        client_cert_path: await world.file('cert.pem', pair.cert),
        client_key_path: await world.file('key.pem', pair.key),
      },
    };
    const known = await world.webhook('mutual', () => ALLOWED, certificate, mutual);
    const stranger = await world.webhook('mutual', () => ALLOWED, {}, mutual);
    const first = await policedServer(validating(world, known.config));
    expect(await first.read('tools/call', BUY)).toMatchObject({ result: { content: [] } });
    expect(known.received[0]?.client).toBe('server');
    const second = await policedServer(validating(world, stranger.config));
    expect(await second.read('tools/call', BUY)).toMatchObject({ error: FAILED });
    expect(stranger.received).toEqual([]);
  });

  it('is trusted by its certificate unless insecure_skip_verify is set', async () => {
    const world = await webhookWorld();
    const unknown = await world.webhook('unknown', () => ALLOWED, { tls_config: {} });
    const skipped = await world.webhook('skipped', () => ALLOWED, { tls_config: { insecure_skip_verify: true } });
    const first = await policedServer(validating(world, unknown.config));
    expect(await first.read('tools/call', BUY)).toMatchObject({ error: FAILED });
    const second = await policedServer(validating(world, skipped.config));
    expect(await second.read('tools/call', BUY)).toMatchObject({ result: { content: [] } });
    expect(world.uses.map(({ outcome }) => outcome)).toEqual(['unreachable', 'allowed']);
  });

  it.each(['{"path":"/secret","path":"/public"}', '{"path":"/public","Path":"/secret"}'])(
    'does not judge arguments that a backend could read in another way: %s',
    async (args) => {
      const world = await webhookWorld();
      const { received, config } = await world.webhook('guard', () => ALLOWED, { failure_policy: 'ignore' });
      const { send, received: methods } = await policedServer(validating(world, config));
      const response = await send('tools/call', `{"name":"shop_buy","arguments":${args}}`);
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({ error: { data: { reason: 'ambiguous_arguments' } } });
      expect(received).toEqual([]);
      expect(methods).not.toContain('tools/call');
    },
  );

  it('row 84: judges a call with 1,000 arguments, and none with more', async () => {
    const world = await webhookWorld();
    const { received, config } = await world.webhook('guard', () => ALLOWED, { failure_policy: 'ignore' });
    const { send } = await policedServer(validating(world, config));
    const call = async (count: number): Promise<unknown> => {
      const names = Array.from({ length: count }, (_, index) => `"${index.toString(36)}":1`);
      return (await send('tools/call', `{"name":"shop_buy","arguments":{${names.join(',')}}}`)).json();
    };
    expect(await call(1_000)).toMatchObject({ result: { content: [] } });
    const refusal = { data: { reason: 'too_many_arguments' }, message: expect.stringContaining('1000') as string };
    expect(await call(1_001)).toMatchObject({ error: refusal });
    expect(await call(90_000)).toMatchObject({ error: refusal });
    expect(received).toHaveLength(1);
  });

  it('cannot judge a call that is too large, and nothing is sent', async () => {
    const world = await webhookWorld();
    const { received, config } = await world.webhook('audit', () => ALLOWED, { failure_policy: 'ignore' });
    const { send, received: methods } = await policedServer(validating(world, config));
    const response = await send('tools/call', { name: 'shop_buy', arguments: { text: 'x'.repeat(1_048_576) } });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ error: { data: { reason: 'webhook_request_too_large' } } });
    expect(received).toEqual([]);
    expect(methods).not.toContain('tools/call');
  });
});

/** Webhooks that give no usable answer: title, outcome, answer. */
const UNUSABLE: readonly (readonly [string, string, Parameters<World['webhook']>[1]])[] = [
  ['is slow', 'timeout', () => undefined],
  [
    'redirects',
    'invalid',
    (_, res) => void res.writeHead(307, { location: 'https://127.0.0.1:1/elsewhere' }).end('{"allowed":true}'),
  ],
  ['announces 100 MiB', 'too_large', (_, res) => void res.writeHead(200, { 'content-length': 104_857_600 }).write('{')],
  [
    'streams 100 MiB',
    'too_large',
    (_, res) => {
      res.writeHead(200);
      const more = (): void => {
        while (!res.destroyed && res.write('x'.repeat(65_536)));
        if (!res.destroyed) res.once('drain', more);
      };
      more();
    },
  ],
  ['sends an endless head of an answer', 'timeout', (_, res) => void res.writeHead(200).write('{"allowed":')],
  ['answers invalid JSON', 'invalid', (_, res) => void res.writeHead(200).end('{"allowed":true')],
  ['answers another shape', 'invalid', () => ({ allowed: 'yes' })],
  ['answers 500', 'invalid', (_, res) => void res.writeHead(500).end('{"allowed":true}')],
  ['hangs up', 'unreachable', (_, res) => void res.destroy()],
];

describe('a webhook that', () => {
  it.each(UNUSABLE)(
    '%s fails the call by default, and is skipped with failure_policy ignore',
    async (_, outcome, answer) => {
      const world = await webhookWorld();
      const timeout = outcome === 'timeout' ? { timeout: 1_000_000_000 } : {};
      const failing = await world.webhook('bad', answer, timeout);
      const ignored = await world.webhook('bad', answer, { ...timeout, failure_policy: 'ignore' });
      const strict = await policedServer(validating(world, failing.config));
      const lenient = await policedServer(validating(world, ignored.config));
      const [response, reply] = await Promise.all([strict.send('tools/call', BUY), lenient.read('tools/call', BUY)]);
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({ id: 1, error: FAILED });
      expect(strict.received).not.toContain('tools/call');
      expect(strict.ended.map((call) => [call.outcome, call.isSent])).toEqual([['unavailable', false]]);
      expect(reply).toMatchObject({ result: { content: [] } });
      expect(world.uses.map((use) => use.outcome)).toEqual([outcome, outcome]);
      expect(world.logged.length).toBeGreaterThanOrEqual(2);
      expect(world.logged.join()).not.toContain('elsewhere');
    },
  );

  it('tries to change more than the arguments is never obeyed and never ignored', async () => {
    const world = await webhookWorld();
    const patch = [{ op: 'replace', path: '/mcp_request/params/name', value: 'shop_fail' }];
    const answer = { allowed: true, patch_type: 'json_patch', patch };
    for (const failure_policy of ['fail', 'ignore'] as const) {
      const { config } = await world.webhook('greedy', () => answer, { failure_policy });
      const { send, received } = await policedServer(mutating(world, config));
      const response = await send('tools/call', BUY);
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({ error: FAILED });
      expect(received).not.toContain('tools/call');
    }
    expect(world.uses.map(({ outcome }) => outcome)).toEqual(['forbidden_change', 'forbidden_change']);
  });

  it('has a private address is refused by the outbound guard', async () => {
    const world = await webhookWorld();
    const config = { name: 'inside', url: 'https://10.1.2.3/hook', timeout: 1_000_000_000 };
    const { read } = await policedServer(validating(world, config));
    expect(await read('tools/call', BUY)).toMatchObject({ error: FAILED });
    expect(world.uses).toEqual([{ name: 'inside', role: 'validating', outcome: 'refused' }]);
  });
});

describe('several webhooks', () => {
  it('run in order: mutating first, each with the result of the one before', async () => {
    const world = await webhookWorld();
    const order: string[] = [];
    const seen = (name: string, answer: object) =>
      world.webhook(name, ({ body }) => {
        order.push(`${name} ${JSON.stringify(body.mcp_request.params.arguments)}`);
        return answer;
      });
    const [a, b, c, d] = await Promise.all([
      seen('a', setting('to', 'ann')),
      seen('b', setting('amount', 3)),
      seen('c', ALLOWED),
      seen('d', ALLOWED),
    ]);
    const authorized: string[] = [];
    const authorization: Policy = {
      readsArguments: true,
      decide: ({ arguments: args }) => {
        authorized.push(String(args));
        return { verdict: 'allow' };
      },
    };
    const { read, bodies } = await policedServer(
      authorization,
      mutating(world, a.config, b.config),
      validating(world, c.config, d.config),
    );
    await read('tools/call', { ...BUY, _meta: { trace: 1 } });
    expect(order).toEqual([
      'a {"amount":2}',
      'b {"amount":2,"to":"ann"}',
      'c {"amount":3,"to":"ann"}',
      'd {"amount":3,"to":"ann"}',
    ]);
    expect(authorized).toEqual(['{"amount":2}', '{"amount":3,"to":"ann"}']);
    expect(sent(bodies)).toEqual({ name: 'buy', arguments: { amount: 3, to: 'ann' }, _meta: { trace: 1 } });
  });

  it('end with the first that denies', async () => {
    const world = await webhookWorld();
    const first = await world.webhook('first', () => ({ allowed: false }));
    const second = await world.webhook('second', () => ALLOWED);
    const { send } = await policedServer(mutating(world, first.config), validating(world, second.config));
    expect((await send('tools/call', BUY)).status).toBe(200);
    expect(second.received).toEqual([]);
  });

  it('serve concurrent calls without mixing them', async () => {
    const world = await webhookWorld();
    const { config } = await world.webhook('stamp', ({ body }) =>
      setting('stamp', body.mcp_request.params.arguments?.['amount']),
    );
    const { read, bodies } = await policedServer(mutating(world, config));
    const amounts = Array.from({ length: 100 }, (_, index) => index);
    const replies = await Promise.all(
      amounts.map((amount) => read('tools/call', { name: 'shop_buy', arguments: { amount } })),
    );
    expect(replies.every((reply) => 'result' in (reply as object))).toBe(true);
    const stamps = bodies
      .filter((body) => body.includes('"tools/call"'))
      .map(
        (body) => (JSON.parse(body) as { params: { arguments: { amount: number; stamp: number } } }).params.arguments,
      );
    expect(stamps).toHaveLength(100);
    expect(stamps.every(({ amount, stamp }) => amount === stamp)).toBe(true);
  });
});

describe('a call that waits for a webhook', () => {
  it('ends when its client leaves, and so does the request to the webhook', async () => {
    const world = await webhookWorld();
    const closed = Promise.withResolvers<undefined>();
    const asked = Promise.withResolvers<undefined>();
    const { config } = await world.webhook('slow', (_, res) => {
      res.on('close', () => {
        closed.resolve(undefined);
      });
      asked.resolve(undefined);
      return undefined;
    }, { timeout: 30_000_000_000, failure_policy: 'ignore' }); // oxfmt-ignore
    const { send, virtual, received, ended } = await policedServer(mutating(world, config));
    const leave = new AbortController();
    const response = send('tools/call', BUY, leave.signal);
    await asked.promise;
    const leftAt = performance.now();
    leave.abort();
    await expect(response).rejects.toThrow();
    await closed.promise;
    expect(performance.now() - leftAt, 'long before the timeout of the webhook').toBeLessThan(10_000);
    await vi.waitFor(() => {
      expect(world.uses).toEqual([{ name: 'slow', role: 'mutating', outcome: 'cancelled' }]);
    });
    expect(virtual.runningCalls).toBe(0);
    expect(ended.map(({ outcome }) => outcome)).toEqual(['cancelled']);
    expect(received).not.toContain('tools/call');
  });
});

describe('arguments that a webhook sets', () => {
  it('reach a call and a prompt that had none', async () => {
    const world = await webhookWorld();
    const { config } = await world.webhook('adding', () => ({
      allowed: true,
      patch_type: 'json_patch',
      patch: [{ op: 'add', path: '/mcp_request/params/arguments', value: { tone: 'warm' } }],
    }));
    const { read, bodies } = await policedServer(mutating(world, config));
    await read('tools/call', { name: 'shop_buy' });
    expect(sent(bodies)).toEqual({ name: 'buy', arguments: { tone: 'warm' } });
    await read('prompts/get', { name: 'shop_greet' });
    expect(bodies.at(-1)).toContain('"arguments":{"tone":"warm"}');
  });
});
