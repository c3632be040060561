import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import type { Backend } from '../../contract/gateway-config.ts';
import { VMCP } from '../../contract/testdata/vmcp-config.ts';
import { createAuthority } from '../../outbound/testdata/authority.ts';
import { createLog } from '../../telemetry/log.ts';
import { reasonOf } from '../health/reason.ts';
import { afterProbe, UNCHECKED } from '../health/state.ts';
import { BackendError, DISCOVERY, type BackendFailure } from './channel.ts';
import { createTransports } from './index.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => server.close());
  return `127.0.0.1:${String((server.address() as AddressInfo).port)}`;
}

/** Opens a channel. Returns the failure, or undefined. */
async function opened(backend: Omit<Backend, 'name'>): Promise<BackendFailure | undefined> {
  const log = createLog(process.stderr, 'error');
  const create = createTransports({ log, version: '0', launcher: undefined, now: Date.now });
  const transport = create({ name: 'alpha', ...backend }, { ...VMCP.operational, timeouts: { default: '5s' } });
  cleanups.push(() => transport.close());
  const owner = { key: DISCOVERY, capabilities: '{}', revision: '2025-06-18', onMessage: () => undefined };
  try {
    await (await transport.open(owner, AbortSignal.timeout(5_000))).close();
    return undefined;
  } catch (error) {
    if (error instanceof BackendError) return error.failure;
    throw error;
  }
}

const reasonFor = ({ kind, cause }: BackendFailure) =>
  reasonOf(afterProbe(UNCHECKED, { ok: false, kind, cause }, { unhealthyThreshold: 1, expectsUser: false }, 0));

/** Replies of servers to a Host that they do not accept. */
const REFUSALS: readonly [string, number, string, string][] = [
  ['@playwright/mcp 0.0.83', 403, 'text/plain', 'Access is only allowed at localhost:8931'],
  [
    'the TypeScript SDK',
    403,
    'application/json',
    '{"jsonrpc":"2.0","error":{"code":-32000,"message":"Invalid Host: 127.0.0.1"},"id":null}',
  ],
  [
    'the TypeScript SDK 1.x',
    403,
    'application/json',
    '{"jsonrpc":"2.0","error":{"code":-32000,"message":"Invalid Host header: 127.0.0.1:1"},"id":null}',
  ],
  ['the Python SDK', 421, 'text/plain', 'Invalid Host header'],
  ['Starlette', 400, 'text/plain', 'Invalid host header'],
  ['the Go SDK', 403, 'text/plain; charset=utf-8', 'Forbidden: invalid Host header\n'],
  ['Rails', 403, 'text/html', '<h1>Blocked hosts: 127.0.0.1:3000</h1>'],
  ['Vite', 403, 'text/plain', 'Blocked request. This host ("127.0.0.1") is not allowed.\nTo allow this host, add it.'],
  [
    'Django',
    400,
    'text/html',
    "<pre>Invalid HTTP_HOST header: '127.0.0.1:1'. You may need to add it to ALLOWED_HOSTS.</pre>",
  ],
];

describe('a backend that refuses the Host header', () => {
  it.each(REFUSALS)('as %s does has that as its reason, over both transports', async (_name, status, type, body) => {
    const host = await listen(
      createServer((req, res) => {
        req.resume();
        res.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) }).end(body);
      }),
    );
    for (const transport of ['streamable-http', 'sse'] as const) {
      const failure = await opened({ transport, url: `http://${host}/mcp`, insecure_allow_http: true });
      expect(failure).toMatchObject({ kind: 'refused', status });
      const reason = failure && reasonFor(failure);
      expect(reason).toContain(`it refuses the Host header of the gateway (HTTP ${String(status)}): set hostHeader`);
    }
  });

  it.each([
    [403, 'text/plain', 'Forbidden'],
    [403, 'application/json', '{"error":"insufficient_scope","message":"the host key is wrong"}'],
    [403, 'text/plain', 'Invalid Origin header'],
    [401, 'text/plain', 'Invalid host header'],
  ])('is not one that answers %i with %s: %s', async (status, type, body) => {
    const host = await listen(
      createServer((req, res) => {
        req.resume();
        res.writeHead(status, { 'content-type': type }).end(body);
      }),
    );
    const failure = await opened({
      transport: 'streamable-http',
      url: `http://${host}/mcp`,
      insecure_allow_http: true,
    });
    expect(failure).toMatchObject({ kind: 'unauthenticated', status });
  });
});

/** Answers as an MCP server that serves one host. */
const servesOnly = (seen: Set<string>, accepted: string) => (req: IncomingMessage, res: ServerResponse) => {
  void text(req).then((body) => {
    seen.add(`${String(req.method)} ${String(req.headers.host)}`);
    if (req.headers.host !== accepted) return res.writeHead(403).end(`Access is only allowed at ${accepted}`);
    const { id, method } = JSON.parse(body || '{}') as { id?: unknown; method?: string };
    if (req.method !== 'POST' || id === undefined) return res.writeHead(202, { 'mcp-session-id': 's' }).end();
    const result = { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'x', version: '1' } };
    const reply = method === 'initialize' ? { result } : { error: { code: -32601, message: 'unknown' } };
    return res
      .writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 's' })
      .end(JSON.stringify({ jsonrpc: '2.0', id, ...reply }));
  });
};

describe('host_header', () => {
  it('is the Host of every request', async () => {
    const seen = new Set<string>();
    const host = await listen(createServer(servesOnly(seen, 'localhost:8931')));
    const url = `http://${host}/mcp`;
    const backend = { transport: 'streamable-http', url, insecure_allow_http: true } as const;
    expect(await opened({ ...backend, host_header: 'localhost:8931' })).toBeUndefined();
    expect([...seen]).toEqual(['POST localhost:8931', 'DELETE localhost:8931']);
    expect(await opened(backend)).toMatchObject({ kind: 'refused' });
  });

  it('does not change the name that the certificate must have', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'vmcp-hosts-'));
    cleanups.push(() => rm(dir, { recursive: true, force: true }));
    const authority = createAuthority('localhost');
    const bundle = join(dir, 'ca.pem');
    await writeFile(bundle, authority.cert);
    const host = await listen(
      createTlsServer(authority.sign('DNS:localhost'), servesOnly(new Set(), 'internal.example')),
    );
    const url = `https://${host.replace('127.0.0.1', 'localhost')}/mcp`;
    const backend = { transport: 'streamable-http', url, ca_bundle_file: bundle, allow_private_ips: true } as const;
    expect(await opened({ ...backend, host_header: 'internal.example' })).toBeUndefined();
  });
});

it('explains an endpoint of HTTP+SSE that lacks the prefix of a proxy', async () => {
  const host = await listen(
    createServer((req, res) => {
      req.resume();
      if (req.url !== '/prefix/sse') res.writeHead(404, { 'content-type': 'text/html' }).end('<h1>not found</h1>');
      else {
        res.writeHead(200, { 'content-type': 'text/event-stream' });
        res.write('event: endpoint\ndata: /messages?session=1\n\n');
      }
    }),
  );
  const failure = await opened({ transport: 'sse', url: `http://${host}/prefix/sse`, insecure_allow_http: true });
  expect(failure).toMatchObject({ kind: 'unavailable' });
  expect(failure && reasonFor(failure)).toBe(
    'the endpoint that its event stream names answers HTTP 404: the path may lack a prefix that a proxy in front of it needs (1 failed in a row)',
  );
});
