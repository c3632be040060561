import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Writable } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import type { Backend, Operational } from '../../contract/gateway-config.ts';
import { createLog } from '../../telemetry/log.ts';
import { BackendError, DISCOVERY, type ChannelOwner } from './channel.ts';
import { createTransports } from './index.ts';

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
const operational: Operational = {
  timeouts: { default: '2s' },
  failure_handling: {
    health_check_interval: '30s',
    health_check_timeout: '10s',
    unhealthy_threshold: 3,
    circuit_breaker: { enabled: false, failure_threshold: 5, timeout: '60s' },
  },
};

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

/** Answers the handshake and notes header `x-key` of every request. */
async function startBackend(seen: unknown[]): Promise<string> {
  const server = createServer((req, res) => {
    seen.push(req.headers['x-key']);
    void text(req).then((body) => {
      const { id } = JSON.parse(body || '{}') as { id?: number };
      if (id === undefined) return res.writeHead(202).end();
      const result = { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'raw', version: '1' } };
      return res
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => new Promise((resolve) => server.close(resolve)));
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/mcp`;
}

const failureOf = (opening: Promise<unknown>): Promise<unknown> =>
  opening.then(
    () => 'opened',
    (error: unknown) => (error instanceof BackendError ? error.failure : error),
  );

describe('a backend whose file cannot be read', () => {
  it.each(['streamable-http', 'sse'] as const)('of transport %s is unavailable and says why', async (transport) => {
    const missing = join(await temporaryFolder(), 'missing');
    const url = 'http://127.0.0.1:9/mcp';
    const bundle = create({ transport, url, ca_bundle_file: missing });
    expect(await failureOf(bundle.open(owner, AbortSignal.timeout(2_000)))).toEqual({
      kind: 'unavailable',
      detail: `the CA bundle stands in ${missing}, which cannot be read (ENOENT)`,
    });
    const header = create({ transport, url, header_forward: { add_headers_from_file: { 'X-Key': missing } } });
    expect(await failureOf(header.open(owner, AbortSignal.timeout(2_000)))).toEqual({
      kind: 'unavailable',
      detail: `the value of header X-Key stands in ${missing}, which cannot be read (ENOENT)`,
    });
  });

  it('opens once the file is there', async () => {
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

it('a transport that is closed opens no more', async () => {
  const transport = create({ transport: 'streamable-http', url: 'http://127.0.0.1:9/mcp' });
  await transport.close();
  expect(await failureOf(transport.open(owner, AbortSignal.timeout(2_000)))).toMatchObject({ kind: 'unavailable' });
});
