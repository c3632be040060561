import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { Backend, Operational } from '../../contract/gateway-config.ts';
import { VMCP } from '../../contract/testdata/vmcp-config.ts';
import { createLog } from '../../telemetry/log.ts';
import { createAuthority, type KeyPair } from '../../outbound/testdata/authority.ts';
import { BackendError, DISCOVERY, type BackendRequest, type ChannelOwner } from './channel.ts';
import { createTransports } from './index.ts';
import { requestReply } from './request-reply.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const silent = new Writable({
  write: (_chunk, _encoding, done) => {
    done();
  },
});
const owner: ChannelOwner = { key: DISCOVERY, capabilities: '{}', revision: '2025-06-18', onMessage: () => undefined };
const operational: Operational = { ...VMCP.operational, timeouts: { default: '2s' } };

function create(backend: Omit<Backend, 'name'>) {
  const options = { log: createLog(silent, 'info'), version: '0', launcher: undefined, now: Date.now };
  const transport = createTransports(options)({ name: 'alpha', ...backend }, operational);
  cleanups.push(() => transport.close());
  return transport;
}

async function temporaryFolder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'vmcp-transport-'));
  cleanups.push(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

/** Answers the handshake and records header `x-key` of every request. */
async function startBackend(seen: unknown[], tls?: KeyPair): Promise<string> {
  const onRequest: RequestListener = (req, res) => {
    seen.push(req.headers['x-key']);
    void text(req).then((body) => {
      const reply = replyTo(body);
      if (reply === undefined) return res.writeHead(202).end();
      return res.writeHead(200, { 'content-type': 'application/json' }).end(reply);
    });
  };
  return listen(tls ? createTlsServer(tls, onRequest) : createServer(onRequest), tls ? 'https' : 'http');
}

/** Does the same over HTTP+SSE. */
async function startSseBackend(seen: unknown[]): Promise<string> {
  let stream: ServerResponse | undefined;
  const server = createServer((req, res) => {
    seen.push(req.headers['x-key']);
    if (req.method === 'GET') {
      stream = res.writeHead(200, { 'content-type': 'text/event-stream' });
      stream.write('event: endpoint\ndata: /messages\n\n');
      return;
    }
    void text(req).then((body) => {
      res.writeHead(202).end();
      const reply = replyTo(body);
      if (reply !== undefined) stream?.write(`event: message\ndata: ${reply}\n\n`);
    });
  });
  return listen(server, 'http');
}

async function listen(server: Server, scheme: string): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return `${scheme}://127.0.0.1:${String((server.address() as AddressInfo).port)}/mcp`;
}

function replyTo(body: string): string | undefined {
  const { id } = JSON.parse(body || '{}') as { id?: number };
  if (id === undefined) return undefined;
  const result = { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'raw', version: '1' } };
  return JSON.stringify({ jsonrpc: '2.0', id, result });
}

const failureOf = (opening: Promise<unknown>): Promise<unknown> =>
  opening.then(
    () => 'opened',
    (error: unknown) => (error instanceof BackendError ? error.failure : error),
  );

describe('a backend whose file cannot be read', () => {
  it.each(['streamable-http', 'sse'] as const)('is unavailable over %s and reports the reason', async (transport) => {
    const missing = join(await temporaryFolder(), 'missing');
    const url = 'http://127.0.0.1:9/mcp';
    const bundle = create({ transport, url, ca_bundle_file: missing });
    expect(await failureOf(bundle.open(owner, AbortSignal.timeout(2_000)))).toEqual({
      kind: 'unavailable',
      detail: `the CA bundle is in ${missing}, which cannot be read (ENOENT)`,
    });
    const header = create({ transport, url, header_forward: { add_headers_from_file: { 'X-Key': missing } } });
    expect(await failureOf(header.open(owner, AbortSignal.timeout(2_000)))).toEqual({
      kind: 'unavailable',
      detail: `the value of header X-Key is in ${missing}, which cannot be read (ENOENT)`,
    });
  });

  it('opens once the file exists', async () => {
    const file = join(await temporaryFolder(), 'key');
    const seen: unknown[] = [];
    const forward = { add_headers_from_file: { 'X-Key': file } };
    const transport = create({ transport: 'streamable-http', url: await startBackend(seen), header_forward: forward });
    expect(await failureOf(transport.open(owner, AbortSignal.timeout(2_000)))).toMatchObject({ kind: 'unavailable' });
    await writeFile(file, 'value\n');
    const channel = await transport.open(owner, AbortSignal.timeout(2_000));
    expect(seen[0]).toBe('value');
    await channel.close();
  });
});

it('rejects opening after close', async () => {
  const transport = create({ transport: 'streamable-http', url: 'http://127.0.0.1:9/mcp' });
  await transport.close();
  expect(await failureOf(transport.open(owner, AbortSignal.timeout(2_000)))).toMatchObject({ kind: 'unavailable' });
});

describe('a file that changes', () => {
  it.each(['streamable-http', 'sse'] as const)('applies to open %s sessions', async (transport) => {
    const file = join(await temporaryFolder(), 'key');
    await writeFile(file, 'old\n');
    const seen: unknown[] = [];
    const url = await (transport === 'sse' ? startSseBackend(seen) : startBackend(seen));
    const forward = { add_headers_from_file: { 'X-Key': file }, add_plaintext_headers: { 'X-Plain': '' } };
    const opened = create({ transport, url, header_forward: forward });
    const channel = await opened.open(owner, AbortSignal.timeout(2_000));
    const ping = (more: Partial<BackendRequest> = {}): Promise<unknown> => {
      const request = { method: 'ping', params: undefined, id: Buffer.from('1'), timeoutMs: 2_000, ...more };
      return failureOf(requestReply((sent, sink) => channel.request(sent, sink), request));
    };
    await ping({ headers: { 'x-key': 'of the client' } });
    expect(new Set(seen)).toEqual(new Set(['old']));

    await writeFile(file, 'new');
    await sleep(1_050); // interval at which the file is checked
    await ping();
    expect(seen.at(-1)).toBe('new');
    await ping({ credential: { 'x-key': 'credential' } });
    expect(seen.at(-1)).toBe('credential');

    await writeFile(file, 'two\r\nlines');
    await sleep(1_050);
    const sent = seen.length;
    expect(await ping()).toEqual({
      kind: 'misconfigured',
      detail: `the value of header X-Key in ${file} contains a line break or another character that is not allowed in a header`,
      provider: undefined,
    });
    expect(seen.length).toBe(sent);
    await channel.close();
  });
});

describe('a backend’s address', () => {
  it.each([
    ['http://example.com/mcp', {}, 'http to "example.com" is not encrypted'],
    ['https://10.0.0.1/mcp', {}, '"10.0.0.1" is a private address'],
    ['https://169.254.169.254/mcp', { allow_private_ips: true, insecure_allow_http: true }, 'which is never called'],
    [
      'http://metadata.google.internal/',
      { allow_private_ips: true, insecure_allow_http: true },
      'which is never called',
    ],
  ])('%s with %j is refused without a connection', async (url, flags, why) => {
    for (const transport of ['streamable-http', 'sse'] as const) {
      const opening = create({ transport, url, ...flags }).open(owner, AbortSignal.timeout(2_000));
      expect(await failureOf(opening)).toMatchObject({ kind: 'unavailable', detail: expect.stringContaining(why) });
    }
  });

  it('may be a loopback address in any spelling', async () => {
    const url = new URL(await startBackend([]));
    for (const host of ['127.0.0.1', 'localhost', '2130706433', '[::ffff:127.0.0.1]']) {
      const transport = create({ transport: 'streamable-http', url: `http://${host}:${url.port}/mcp` });
      expect(await failureOf(transport.open(owner, AbortSignal.timeout(2_000)))).toBe('opened');
    }
  });

  it('is verified with its CA bundle, even after a change', async () => {
    const file = join(await temporaryFolder(), 'ca.crt');
    const [authority, stranger] = [createAuthority('own'), createAuthority('stranger')];
    const url = await startBackend([], authority.sign('IP:127.0.0.1'));
    await writeFile(file, stranger.cert);
    for (const transport of ['streamable-http', 'sse'] as const) {
      const backend = create({ transport, url, ca_bundle_file: file });
      expect(await failureOf(backend.open(owner, AbortSignal.timeout(2_000)))).toMatchObject({ kind: 'unavailable' });
    }
    const backend = create({ transport: 'streamable-http', url, ca_bundle_file: file });
    expect(await failureOf(backend.open(owner, AbortSignal.timeout(2_000)))).toMatchObject({ kind: 'unavailable' });
    await writeFile(file, authority.cert);
    await sleep(1_050);
    expect(await failureOf(backend.open(owner, AbortSignal.timeout(2_000)))).toBe('opened');
  });
});
