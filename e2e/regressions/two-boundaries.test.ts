import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { Secret } from '../../gateway/contract/identity.ts';
import { CredentialError } from '../../gateway/outgoing/authenticator.ts';
import type { UpstreamTokens } from '../../gateway/outgoing/upstream-tokens.ts';
import { bearerOf, startGatewayOver } from '../harness/authenticated-gateway.ts';
import { startPersonalBackend } from '../harness/backends/personal.ts';
import { initializeRequest, MCP_HEADERS, openSession, raw } from '../harness/clients/raw.ts';
import { startIssuer, type Issuer } from '../harness/issuer.ts';
import { eventually } from '../harness/poll.ts';
import { blockScope, testScope, type Scope } from '../harness/scope.ts';

const INJECT = { type: 'upstream_inject', provider_name: 'github' };

let issuer: Issuer;
const scope = blockScope();
beforeAll(async () => {
  issuer = await startIssuer(scope);
});

/** Every user is logged in, with a token that names him. */
const everyoneLoggedIn = (): UpstreamTokens => {
  const tokens = new Map<string, Secret>();
  return {
    get: ({ subject }, _provider, need) => {
      const known = tokens.get(subject);
      if (known && known.reveal() !== need?.refused?.reveal()) return { accessToken: known };
      const fresh = new Secret(issuer.token({ sub: subject, aud: 'github' }));
      tokens.set(subject, fresh);
      return { accessToken: fresh };
    },
  };
};

const http = (name: string, url: string) => ({ name, transport: 'streamable-http' as const, url });

async function serve(on: Scope, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  on.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/mcp`;
}

interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: { readonly arguments?: { readonly hangs?: boolean } };
}

/** Starts an MCP server with one tool, `tool`; `onCall` answers its calls. */
async function serverWithOneTool(
  on: Scope,
  onCall: (message: Message, req: IncomingMessage, res: ServerResponse) => void,
  onGet: RequestListener = (_req, res) => res.writeHead(405).end(),
): Promise<string> {
  const results: Readonly<Record<string, unknown>> = {
    initialize: {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name: 'one', version: '1' },
    },
    'tools/list': { tools: [{ name: 'tool', inputSchema: { type: 'object' } }] },
  };
  return serve(on, (req, res) => {
    if (req.method !== 'POST') {
      onGet(req, res);
      return;
    }
    void json(req).then((body) => {
      const message = body as Message;
      if (message.method === 'tools/call') onCall(message, req, res);
      else if (message.id === undefined) res.writeHead(202).end();
      else reply(res, message, results[message.method ?? ''] ?? {});
    });
  });
}

function reply(res: ServerResponse, { id }: Message, result: unknown): void {
  res.writeHead(200, { 'content-type': 'application/json' });
  res.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
}

const DONE = { content: [{ type: 'text', text: 'done' }] };

describe('a 401 of a backend', () => {
  it('refreshes the credential whatever its body, and opens no circuit', async () => {
    const refused: (string | undefined)[] = [];
    const url = await serverWithOneTool(testScope(), (message, req, res) => {
      const { authorization } = req.headers;
      if (refused.length > 0 && authorization !== refused[0]) {
        reply(res, message, DONE);
        return;
      }
      refused.push(authorization);
      res.writeHead(401, { 'content-type': 'application/json' }).end('{"error":"invalid_token"}');
    });
    const parts = {
      issuer,
      backends: [http('b', url)],
      outgoing: { b: INJECT },
      circuit: { enabled: true, failure_threshold: 1 },
    };
    const { url: mcp } = await startGatewayOver(testScope(), parts, { upstreamTokens: everyoneLoggedIn() });
    const session = await openSession(mcp, undefined, bearerOf(issuer, 'ann'));
    await session.tools();
    expect((await session.call('b_tool')).text).toContain('done');
    expect(refused).toHaveLength(1);
  });

  it('for the resumption of a stream does not run the tool again', async () => {
    let calls = 0;
    const url = await serverWithOneTool(
      testScope(),
      (_message, _req, res) => {
        calls += 1;
        res.writeHead(200, { 'content-type': 'text/event-stream' });
        res.end('id: 1\nretry: 50\ndata:\n\n');
      },
      (req, res) => res.writeHead(req.headers['last-event-id'] === undefined ? 405 : 401).end(),
    );
    const parts = { issuer, backends: [http('b', url)], outgoing: { b: INJECT } };
    const { url: mcp } = await startGatewayOver(testScope(), parts, { upstreamTokens: everyoneLoggedIn() });
    const session = await openSession(mcp, undefined, bearerOf(issuer, 'ann'));
    await session.tools();
    expect((await session.call('b_tool')).result).toMatchObject({ isError: true });
    expect(calls).toBe(1);
  });
});

describe('an unavailable credential of one user', () => {
  it('opens no circuit', async () => {
    const backend = await startPersonalBackend(testScope());
    const logins = everyoneLoggedIn();
    const upstreamTokens: UpstreamTokens = {
      get: (owner, provider, need) => {
        if (owner.subject === 'mallory') throw new CredentialError('unavailable', 'too many requests');
        return logins.get(owner, provider, need);
      },
    };
    const parts = {
      issuer,
      backends: [http('b', backend.url)],
      outgoing: { b: INJECT },
      circuit: { enabled: true, failure_threshold: 2 },
    };
    const { url } = await startGatewayOver(testScope(), parts, { upstreamTokens });
    const mallory = await openSession(url, undefined, bearerOf(issuer, 'mallory'));
    for (let call = 0; call < 4; call += 1) expect((await mallory.call('b_whoami')).text).toContain('is unavailable');
    const alice = await openSession(url, undefined, bearerOf(issuer, 'alice'));
    await alice.tools();
    expect((await alice.call('b_whoami')).text).toContain('whoami for alice');
  });
});

describe('calls of one user that time out', () => {
  it('open no circuit; those of a second user open it', async () => {
    const url = await serverWithOneTool(testScope(), (message, _req, res) => {
      if (message.params?.arguments?.hangs !== true) reply(res, message, DONE);
    });
    const circuit = { enabled: true, failure_threshold: 3 };
    const parts = { issuer, backends: [http('b', url)], circuit, timeout: '300ms' };
    const { url: mcp } = await startGatewayOver(testScope(), parts);
    const [mallory, alice] = [
      await openSession(mcp, undefined, bearerOf(issuer, 'mallory')),
      await openSession(mcp, undefined, bearerOf(issuer, 'alice')),
    ];
    const hangs = async () => expect((await mallory.call('b_tool', { hangs: true })).text).toContain('timed out');
    await Promise.all([hangs(), hangs(), hangs(), hangs()]);
    expect((await alice.call('b_tool')).text).toContain('done');

    await Promise.all([hangs(), hangs()]);
    expect((await alice.call('b_tool', { hangs: true })).text).toContain('timed out');
    expect((await alice.call('b_tool')).text).toContain('too many calls failed');
  });
});

describe('personal lists', () => {
  it('of the backend with priority for a name are read before a call is routed', async () => {
    const mine = await startPersonalBackend(testScope());
    const called: string[] = [];
    const other = await serve(testScope(), (req, res) => {
      void json(req).then((body) => {
        const message = body as Message;
        called.push(message.method ?? '');
        const tools = [{ name: 'whoami', inputSchema: { type: 'object' } }];
        const result =
          message.method === 'initialize'
            ? { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'o', version: '1' } }
            : message.method === 'tools/list'
              ? { tools }
              : DONE;
        if (message.id === undefined) res.writeHead(202).end();
        else reply(res, message, result);
      });
    });
    const parts = {
      issuer,
      backends: [http('mine', mine.url), http('other', other)],
      outgoing: { mine: INJECT },
      aggregation: { conflict_resolution: 'priority' as const, priority_order: ['mine', 'other'] },
    };
    const { url } = await startGatewayOver(testScope(), parts, { upstreamTokens: everyoneLoggedIn() });
    await eventually('the shared backend is known', () => called.includes('tools/list'));
    const session = await openSession(url, undefined, bearerOf(issuer, 'ann'));
    expect((await session.call('whoami')).text).toContain('whoami for ann');
    expect(called).not.toContain('tools/call');
  });

  it('follow a renamed backend', async () => {
    const backend = await startPersonalBackend(testScope());
    const parts = (name: string) => ({ issuer, backends: [http(name, backend.url)], outgoing: { [name]: INJECT } });
    const { url, swap } = await startGatewayOver(testScope(), parts('p'), { upstreamTokens: everyoneLoggedIn() });
    const session = await openSession(url, undefined, bearerOf(issuer, 'ann'));
    expect(await session.tools()).toContain('p_whoami');
    await swap(parts('q'));
    expect(await session.tools()).toEqual(['q_of-ann', 'q_whoami']);
    expect((await session.call('q_whoami')).text).toContain('whoami for ann');
  });

  it('are read at most once per second when a backend announces changes continuously', async () => {
    const backend = await startPersonalBackend(testScope());
    const parts = { issuer, backends: [http('b', backend.url)], outgoing: { b: INJECT } };
    const { url } = await startGatewayOver(testScope(), parts, { upstreamTokens: everyoneLoggedIn() });
    const session = await openSession(url, undefined, bearerOf(issuer, 'ann'));
    await session.tools();
    const listening = new AbortController();
    await fetch(url, { headers: { ...session.headers, accept: 'text/event-stream' }, signal: listening.signal });
    await eventually('the stream of the backend is open', () => backend.seen.some(({ what }) => what === 'GET'));
    const before = backend.seen.filter(({ what }) => what === 'tools/list').length;
    const begun = performance.now();
    for (let change = 0; change < 40; change += 1) {
      backend.addTool('ann', `new-${String(change)}`);
      await sleep(50);
    }
    const seconds = (performance.now() - begun) / 1_000;
    const most = Math.max(4, 2 + seconds); // at once, then once a second
    expect(backend.seen.filter(({ what }) => what === 'tools/list').length - before).toBeLessThanOrEqual(most);
    await eventually('the last change is listed', async () => (await session.tools()).includes('b_new-39'));
    listening.abort();
  });

  it('of many principals change together without blocking the gateway', async () => {
    const backend = await startPersonalBackend(testScope());
    const parts = (more: readonly ReturnType<typeof http>[]) => ({
      issuer,
      backends: [http('b', backend.url), ...more],
      outgoing: { b: INJECT },
    });
    const { url, swap } = await startGatewayOver(testScope(), parts([]), { upstreamTokens: everyoneLoggedIn() });
    const users = Array.from({ length: 300 }, (_, number) => `user-${String(number)}`);
    for (const user of users) await (await openSession(url, undefined, bearerOf(issuer, user))).tools();
    const shared = await serverWithOneTool(testScope(), (message, _req, res) => {
      reply(res, message, DONE);
    });
    const begun = performance.now();
    await swap(parts([http('s', shared)]));
    await raw(url.replace('/mcp', '/health'));
    expect(performance.now() - begun).toBeLessThan(3_000);
    const last = await openSession(url, undefined, bearerOf(issuer, 'user-299'));
    expect(await last.tools()).toEqual(['b_of-user-299', 'b_whoami', 's_tool']);
  });
});

describe('a change of the incoming authentication', () => {
  it('ends the sessions and streams of the old authentication', async () => {
    const url = await serverWithOneTool(testScope(), (message, _req, res) => {
      reply(res, message, DONE);
    });
    const { url: mcp, swap } = await startGatewayOver(testScope(), { backends: [http('b', url)] });
    const anonymous = await openSession(mcp);
    const stream = await fetch(mcp, { headers: { ...anonymous.headers, accept: 'text/event-stream' } });
    const ended = stream.text().then(() => 'ended');
    await swap({ issuer, backends: [http('b', url)] });
    await expect(ended).resolves.toBe('ended');
    expect((await anonymous.post('{"jsonrpc":"2.0","id":1,"method":"ping"}')).status).toBe(401);
  });
});

describe('a stream of HTTP+SSE', () => {
  it('is initialized once; a second attempt is rejected without consequences', async () => {
    const backend = await serverWithOneTool(testScope(), (message, _req, res) => {
      reply(res, message, DONE);
    });
    const { url } = await startGatewayOver(testScope(), { backends: [http('b', backend)] });
    const { origin } = new URL(url);
    const stream = await fetch(`${origin}/sse`, { headers: { accept: 'text/event-stream' } });
    let received = '';
    void (async () => {
      for await (const piece of stream.body ?? []) received += Buffer.from(piece as Uint8Array).toString();
    })().catch(() => undefined);
    const endpoint = await eventually('the endpoint has arrived', () => /data: (\/messages\S+)/.exec(received)?.[1]);
    const initialize = { method: 'POST', headers: MCP_HEADERS, body: initializeRequest('2024-11-05') };
    expect((await raw(origin + endpoint, initialize)).status).toBe(202);
    expect((await raw(origin + endpoint, initialize)).status).toBe(400);
    const list = { ...initialize, body: '{"jsonrpc":"2.0","id":2,"method":"tools/list"}' };
    expect((await raw(origin + endpoint, list)).status).toBe(202);
    await eventually('the list has arrived', () => received.includes('b_tool'));
    await stream.body?.cancel().catch(() => undefined);
  });

  it('gets the challenge of a call on its next request', async () => {
    const backend = await startPersonalBackend(testScope());
    const upstreamTokens: UpstreamTokens = {
      get: (_owner, provider) => {
        throw new CredentialError('reauthenticate', 'no login is stored', provider);
      },
    };
    const parts = { issuer, backends: [http('b', backend.url)], outgoing: { b: INJECT } };
    const { url } = await startGatewayOver(testScope(), parts, { upstreamTokens });
    const { origin } = new URL(url);
    const headers = { ...MCP_HEADERS, ...bearerOf(issuer, 'ann') };
    const stream = await fetch(`${origin}/sse`, { headers: { ...headers, accept: 'text/event-stream' } });
    let received = '';
    void (async () => {
      for await (const piece of stream.body ?? []) received += Buffer.from(piece as Uint8Array).toString();
    })().catch(() => undefined);
    const endpoint = await eventually('the endpoint has arrived', () => /data: (\/messages\S+)/.exec(received)?.[1]);
    const post = (body: string) => raw(origin + endpoint, { method: 'POST', headers, body });
    await post(initializeRequest('2024-11-05'));
    await post('{"jsonrpc":"2.0","id":2,"method":"tools/list"}');
    await eventually('the list has arrived', () => received.includes('"id":2'));
    await post('{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"b_whoami"}}');
    await eventually('the error has arrived', () => received.includes('"reauth":true'));
    const next = await post('{"jsonrpc":"2.0","id":4,"method":"ping"}');
    expect(next.status).toBe(401);
    expect(next.headers['www-authenticate']).toContain('error="invalid_token"');
    expect((await post('{"jsonrpc":"2.0","id":5,"method":"ping"}')).status).toBe(202);
    await stream.body?.cancel().catch(() => undefined);
  });
});
