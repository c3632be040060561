import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { describe, expect, it } from 'vitest';
import { createOutbound, type OutboundOptions } from './fetch.ts';
import type { OutboundError } from './outbound-error.ts';
import { recordListener } from './own-listeners.ts';
import type { OutboundPolicy } from './policy.ts';
import { onEnd, resolver, serve } from './testdata/servers.ts';

const LOCAL: OutboundPolicy = { allowPrivate: true, allowLoopback: true, allowHttp: true };
const [address] = Object.values(networkInterfaces()).flatMap((all) =>
  (all ?? []).filter(({ family, internal }) => family === 'IPv4' && !internal).map((one) => one.address),
);

/** Starts a listener of this process, and returns its port and the requests that it received. */
async function own(purpose: 'mcp' | 'internal', host = '127.0.0.1') {
  const requests: string[] = [];
  const server: Server = createServer((req, res) => {
    requests.push(`${req.method ?? ''} ${req.url ?? ''}`);
    res.end('own');
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  recordListener(server, purpose);
  onEnd(() => server.close());
  return { port: (server.address() as AddressInfo).port, requests, server };
}

/** Sends a request, and returns its status or the kind of its failure. */
async function send(url: string, method: 'GET' | 'POST' = 'POST', options: Partial<OutboundOptions> = {}) {
  const outbound = createOutbound({ policy: LOCAL, ...options });
  onEnd(() => outbound.close());
  const limits = { maxBytes: 1_000, timeoutMs: 5_000, followRedirects: 'anywhere' as const };
  return outbound.request({ url, method, ...limits }).then(
    ({ status }) => status,
    (error: unknown) => (error as OutboundError).kind,
  );
}

describe('row 99: a URL of a document', () => {
  it.each(['127.0.0.1', 'localhost', '2130706433', '0x7f.1', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]'])(
    'with the host %s leads to no listener of this process',
    async (host) => {
      const { port, requests } = await own('mcp');
      expect(await send(`http://${host}:${String(port)}/x`)).toBe('refused');
      expect(requests).toEqual([]);
    },
  );

  it('with a name that resolves to this machine leads to none', async () => {
    const { port, requests } = await own('internal');
    const lookup = resolver(['127.0.0.1']);
    expect(await send(`http://own.example:${String(port)}/x`, 'POST', { lookup })).toBe('refused');
    expect(requests).toEqual([]);
  });

  it.each(['0.0.0.0', '::'])('leads to none that listens on %s', async (host) => {
    const { port, requests } = await own('internal', host);
    for (const name of ['127.0.0.1', '127.1.2.3', ...(address === undefined ? [] : [address])]) {
      expect([name, await send(`http://${name}:${String(port)}/x`)]).toEqual([name, 'refused']);
    }
    expect(requests).toEqual([]);
  });

  it('redirects to none', async () => {
    const { port, requests } = await own('mcp');
    const away = await serve((_, res) => res.writeHead(302, { location: `http://localhost:${String(port)}/x` }).end());
    const url = `http://127.0.0.1:${String(away.port)}/`;
    expect(await send(url, 'GET')).toBe('refused');
    expect(await send(url, 'GET', { configuredUrl: url })).toBe('refused');
    expect(requests).toEqual([]);
  });

  it('leads to other programs on this machine, and to a port that this process has closed', async () => {
    const { port } = await serve((_, res) => res.end());
    expect(await send(`http://127.0.0.1:${String(port)}/`)).toBe(200);
    const closed = await own('internal');
    await new Promise((resolve) => closed.server.close(resolve));
    const next = await serve((_, res) => res.end(), { port: closed.port });
    expect(await send(`http://127.0.0.1:${String(next.port)}/`)).toBe(200);
  });
});

describe('a configured URL', () => {
  it('may name an MCP endpoint of this process, and documents behind it only the same one', async () => {
    const [one, other] = [await own('mcp'), await own('mcp')];
    const configuredUrl = `http://localhost:${String(one.port)}/mcp`;
    expect(await send(configuredUrl, 'POST', { configuredUrl })).toBe(200);
    expect(await send(`http://localhost:${String(one.port)}/keys`, 'GET', { configuredUrl })).toBe(200);
    expect(await send(`http://localhost:${String(other.port)}/mcp`, 'POST', { configuredUrl })).toBe('refused');
    expect(other.requests).toEqual([]);
  });

  it('cannot name another listener of this process', async () => {
    const { port, requests } = await own('internal');
    const configuredUrl = `http://127.0.0.1:${String(port)}/api`;
    expect(await send(configuredUrl, 'POST', { configuredUrl })).toBe('refused');
    expect(requests).toEqual([]);
  });
});
