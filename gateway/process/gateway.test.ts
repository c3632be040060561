import { Agent, createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { PassThrough } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import { startGateway, type Gateway, type ServerSpec } from './gateway.ts';
import type { Aggregation } from '../contract/aggregation/aggregation.ts';
import type { Backend, GatewayConfig } from '../contract/gateway-config.ts';
import { VMCP } from '../contract/testdata/vmcp-config.ts';
import { createLog } from '../telemetry/log.ts';

interface Message {
  readonly id?: number;
  readonly method?: string;
}

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Offer {
  readonly tools: readonly string[];
  readonly resources?: readonly string[];
  /** Delays the list of tools. */
  readonly listed?: Promise<unknown>;
  /** Serves everything but the handshake and the lists. */
  readonly answer?: (message: Message, reply: (result: object) => void) => void;
}

/** A streamable HTTP backend with sessions. */
async function backend(name: string, offer: Offer): Promise<{ config: Backend }> {
  const post = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const message = JSON.parse(await text(req)) as Message;
    const reply = (result: object): void => {
      res.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': name });
      res.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result }));
    };
    const capabilities = { tools: {}, resources: {} };
    if (message.id === undefined) res.writeHead(202).end();
    else if (message.method === 'server/discover') res.writeHead(404).end();
    else if (message.method === 'initialize')
      reply({ protocolVersion: '2025-06-18', capabilities, serverInfo: { name, version: '1' } });
    else if (message.method === 'tools/list') {
      await offer.listed;
      reply({ tools: offer.tools.map((tool) => ({ name: tool, inputSchema: { type: 'object' } })) });
    } else if (message.method === 'resources/list')
      reply({ resources: (offer.resources ?? []).map((uri) => ({ uri, name: uri })) });
    else if (message.method === 'resources/templates/list') reply({ resourceTemplates: [] });
    else (offer.answer ?? ((_message, answer) => answer({})))(message, reply);
  };
  const server = createServer((req, res) => {
    if (req.method === 'POST') void post(req, res);
    else res.writeHead(405).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/mcp`;
  return {
    config: { name, transport: 'streamable-http', url, insecure_allow_http: true, allow_private_ips: true },
  };
}

interface Settings {
  readonly timeout?: string;
  readonly strategy?: Aggregation['conflict_resolution'];
  readonly origins?: string[];
}

function spec(backends: readonly Backend[], { timeout = '5s', strategy = 'none', origins }: Settings = {}): ServerSpec {
  const config: GatewayConfig = {
    schema_version: 'v0.1.0',
    name: 'test',
    group: 'test',
    vmcp: {
      backends: [...backends],
      incoming: { ...VMCP.incoming, ...(origins && { allowed_origins: origins }) },
      aggregation: { ...VMCP.aggregation, conflict_resolution: strategy },
      operational: { ...VMCP.operational, timeouts: { default: timeout } },
    },
  };
  return { config, host: '127.0.0.1', port: 0, local: true };
}

async function start(...servers: ServerSpec[]): Promise<{ gateway: Gateway; url: string }> {
  const log = createLog(new PassThrough().resume(), 'error');
  const gateway = await startGateway({
    servers,
    management: { host: '127.0.0.1', port: 0 },
    log,
    version: '0',
  });
  cleanups.push(() => gateway.stop(0));
  return { gateway, url: gateway.servers[0]?.mcpUrl ?? '' };
}

const send = (url: string, message: object, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
  });

/** A session that is open: `ask` sends one request and reads the reply. */
async function client(
  url: string,
): Promise<{ id: string; ask: (method: string, params?: object) => Promise<unknown> }> {
  const opened = await send(url, { id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25' } });
  const id = opened.headers.get('mcp-session-id') ?? '';
  return {
    id,
    ask: async (method, params = {}) => (await send(url, { id: 1, method, params }, { 'mcp-session-id': id })).json(),
  };
}

describe('a swap of the configuration', () => {
  it('finishes running calls on a replaced backend, and sends new calls to its successor', async () => {
    const asked = Promise.withResolvers<undefined>();
    const release = Promise.withResolvers<undefined>();
    const old = await backend('a', {
      tools: ['t'],
      answer: (_message, reply) => {
        asked.resolve(undefined);
        void release.promise.then(() => reply({ from: 'old' }));
      },
    });
    const next = await backend('a', { tools: ['t'], answer: (_message, reply) => reply({ from: 'new' }) });
    const { gateway, url } = await start(spec([old.config]));
    const { ask } = await client(url);
    const running = ask('tools/call', { name: 't' });
    await asked.promise;
    await gateway.swap([spec([next.config], { timeout: '6s' })]);
    expect(await ask('tools/call', { name: 't' })).toMatchObject({ result: { from: 'new' } });
    release.resolve(undefined);
    expect(await running).toMatchObject({ result: { from: 'old' } });
  });

  it('lets requests for lists wait for a backend that has not answered yet', async () => {
    const listed = Promise.withResolvers<undefined>();
    const { config } = await backend('a', { tools: ['t'], listed: listed.promise });
    const { gateway, url } = await start(spec([config]));
    await gateway.swap([spec([config], { origins: ['https://after.example'] })]);
    const { ask } = await client(url);
    const reply = ask('tools/list');
    await new Promise((resolve) => setTimeout(resolve, 100));
    listed.resolve(undefined);
    expect(await reply).toMatchObject({ result: { tools: [{ name: 't' }] } });
  });

  it('finishes calls of a removed virtual server before the gateway stops', async () => {
    const asked = Promise.withResolvers<undefined>();
    const release = Promise.withResolvers<undefined>();
    const { config } = await backend('a', {
      tools: ['t'],
      answer: (_message, reply) => {
        asked.resolve(undefined);
        void release.promise.then(() => reply({ from: 'a' }));
      },
    });
    const { gateway, url } = await start(spec([config]));
    const { ask } = await client(url);
    const running = ask('tools/call', { name: 't' });
    await asked.promise;
    await gateway.swap([]);
    let isStopped = false;
    const stopped = gateway.stop().then(() => {
      isStopped = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(isStopped).toBe(false);
    release.resolve(undefined);
    expect(await running).toMatchObject({ result: { from: 'a' } });
    await stopped;
  });

  it('reports a removed backend as unavailable while a conflict keeps the previous lists active', async () => {
    const backends = [await backend('a', { tools: ['t'] }), await backend('b', { tools: ['t'] })].map(
      ({ config }) => config,
    );
    const d = await backend('d', { tools: ['t'], resources: ['x://d'] });
    const { gateway, url } = await start(spec([...backends, d.config], { strategy: 'prefix' }));
    const { ask } = await client(url);
    const tools = { result: { tools: [{ name: 'a_t' }, { name: 'b_t' }, { name: 'd_t' }] } };
    expect(await ask('tools/list')).toMatchObject(tools);
    await gateway.swap([spec(backends, { strategy: 'none' })]);
    expect(await ask('tools/list')).toMatchObject(tools);
    const gone: unknown = expect.stringContaining('backend "d" is unavailable');
    const called = await ask('tools/call', { name: 'd_t' });
    expect(called).toMatchObject({ result: { isError: true, content: [{ text: gone }] } });
    expect(await ask('resources/read', { uri: 'x://d' })).toMatchObject({ error: { message: gone } });
  });

  it('applies a new list of allowed origins at once', async () => {
    const { config } = await backend('a', { tools: ['t'] });
    const { gateway, url } = await start(spec([config], { origins: ['https://before.example'] }));
    const statusOf = async (origin: string): Promise<number> =>
      (await send(url, { id: 1, method: 'ping' }, { origin })).status;
    expect([await statusOf('https://before.example'), await statusOf('https://after.example')]).toEqual([400, 403]);
    await gateway.swap([spec([config], { origins: ['https://after.example'] })]);
    expect([await statusOf('https://before.example'), await statusOf('https://after.example')]).toEqual([403, 400]);
  });
});

describe('the metadata of a protected resource', () => {
  const guarded = (name: string, resourceURL: string): ServerSpec => {
    const { config, ...where } = spec([]);
    const oidc_config = { issuer: 'http://127.0.0.1:9', audience: name, resourceURL };
    return { ...where, config: { ...config, name, oidc_config, vmcp: { ...config.vmcp, incoming: { type: 'oidc' } } } };
  };

  it('is served at the bare path when no other virtual server of the process shares the origin', async () => {
    const [a, b] = [guarded('a', 'https://mcp.example/a/mcp'), guarded('b', 'https://mcp.example/b/mcp')];
    const { gateway } = await start(a, b, guarded('c', 'https://other.example/mcp'));
    const statusAt = async (path: string) => {
      const urls = gateway.servers.map(({ mcpUrl }) => new URL(`/.well-known/oauth-protected-resource${path}`, mcpUrl));
      return (await Promise.all(urls.map((url) => fetch(url)))).map(({ status }) => status);
    };
    expect(await statusAt('')).toEqual([404, 404, 200]);
    expect(await statusAt('/a/mcp')).toEqual([200, 404, 404]);
    expect(await statusAt('/b/mcp')).toEqual([404, 200, 404]);
    await gateway.swap([a, guarded('b', 'https://b.example/mcp')]);
    expect(await statusAt('')).toEqual([200, 200]);
  });
});

describe('a backend that sends a request before its channel is open', () => {
  it('receives an answer', async () => {
    const answered: unknown[] = [];
    let stream: ServerResponse | undefined;
    const say = (message: object): void => {
      stream?.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`);
    };
    const take = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
      const { id, method, ...rest } = JSON.parse(await text(req)) as Message;
      if (method === 'initialize')
        say({
          id,
          result: { protocolVersion: '2024-11-05', capabilities: {}, serverInfo: { name: 'a', version: '1' } },
        });
      else if (method === 'notifications/initialized') {
        say({ id: 'early', method: 'roots/list' });
        await new Promise((resolve) => setTimeout(resolve, 100));
      } else if (id === ('early' as unknown)) answered.push(rest);
      res.writeHead(202).end();
    };
    const server = createServer((req, res) => {
      if (req.method === 'POST') void take(req, res);
      else {
        stream = res.writeHead(200, { 'content-type': 'text/event-stream' });
        stream.write('event: endpoint\ndata: /messages\n\n');
      }
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    cleanups.push(() => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    });
    const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/sse`;
    await start(spec([{ name: 'a', transport: 'sse', url }]));
    await expect.poll(() => answered).toMatchObject([{ error: { code: -32601 } }]);
  });
});

it('answers clients of the management API that return while it stops, and ends their connections', async () => {
  const { gateway } = await start();
  const agent = new Agent({ keepAlive: true });
  const connectionOf = (): Promise<string | undefined> =>
    new Promise((resolve, reject) => {
      request(`${gateway.managementUrl}/status`, { agent }, (res) => {
        res.resume().on('end', () => {
          resolve(res.headers.connection);
        });
      })
        .on('error', reject)
        .end();
    });
  expect(await connectionOf()).toBe('keep-alive');
  const stopped = gateway.stop();
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(await connectionOf()).toBe('close');
  await stopped;
  agent.destroy();
});

describe('the public listener', () => {
  it.each(['/mcp', '/sse'])('opens no stream for HEAD %s', async (path) => {
    const { url } = await start(spec([]));
    const { id } = await client(url);
    const headers = { accept: 'text/event-stream', 'mcp-session-id': id };
    const status = await new Promise((resolve, reject) => {
      request(new URL(path, url), { method: 'HEAD', headers }, (res) => resolve(res.statusCode))
        .on('error', reject)
        .end();
    });
    expect(status).toBe(405);
  });

  it('refuses a body that is too long with a response that the client can read while it sends', async () => {
    const { url } = await start(spec([]));
    const chunk = new Uint8Array(100_000);
    for (let attempt = 0; attempt < 5; attempt += 1) {
      let left = 300;
      const body = new ReadableStream({
        pull: (controller) => {
          if (left > 0) controller.enqueue(chunk);
          else controller.close();
          left -= 1;
        },
      });
      const headers = { 'content-type': 'application/json', accept: '*/*' };
      const refused = await fetch(url, { method: 'POST', headers, body, duplex: 'half' });
      expect(refused.status).toBe(413);
    }
  });
});
