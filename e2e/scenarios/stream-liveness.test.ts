import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { openGet, openPost, type Received } from '../faults/event-stream.ts';
import { startMcpServer } from '../faults/mcp-server.ts';
import { startGatewayOver } from '../harness/authenticated-gateway.ts';
import { initializeRequest, MCP_HEADERS, raw } from '../harness/clients/raw.ts';
import { startIssuer, type Issuer } from '../harness/issuer.ts';
import { blockScope } from '../harness/scope.ts';
import { temporaryFolder } from '../harness/vmcp.ts';
import { bearer, openBearerSession } from './bearer-session.ts';

const scope = blockScope();
const HEARTBEAT_MS = 100;
let issuer: Issuer;
let url = '';

beforeAll(async () => {
  issuer = await startIssuer(scope);
  const server = await startMcpServer(scope, 'slow');
  server.intercept = ({ message, send }) => {
    if (message.method !== 'tools/call') return false;
    send({ method: 'notifications/message', params: { level: 'info', data: 'working' } });
    return true;
  };
  const clientSecretFile = join(await temporaryFolder(scope), 'secret');
  await writeFile(clientSecretFile, issuer.clientSecret);
  const gateway = await startGatewayOver(
    scope,
    {
      backends: [
        {
          name: 'slow',
          transport: 'streamable-http',
          url: server.url,
          insecure_allow_http: true,
          allow_private_ips: true,
        },
      ],
      issuer,
      oidc: { clientID: issuer.clientId, clientSecretFile, allowPrivateIP: true, insecureAllowHTTP: true },
      incoming: { clock_skew_seconds: 0 },
    },
    { heartbeatMs: HEARTBEAT_MS },
  );
  ({ url } = gateway);
});

const seconds = (): number => Math.floor(Date.now() / 1_000);
const shortToken = (): string => issuer.token({ exp: seconds() + 3 });
/** Opens and initializes a stream of HTTP+SSE. */
async function openLegacy(token: string): Promise<{ readonly isOpen: () => boolean }> {
  const { body } = await fetch(url.replace(/mcp$/, 'sse'), { headers: bearer(token) });
  const reader = (body as ReadableStream<Uint8Array>).getReader();
  const first = Buffer.from((await reader.read()).value ?? []).toString();
  const endpoint = new URL(/^data: (.*)$/m.exec(first)?.[1] ?? '', url).href;
  const headers = { ...MCP_HEADERS, ...bearer(token) };
  expect((await raw(endpoint, { method: 'POST', headers, body: initializeRequest('2024-11-05') })).status).toBe(202);
  let open = true;
  const drain = async (): Promise<void> => {
    while (!(await reader.read()).done);
    open = false;
  };
  void drain();
  return { isOpen: () => open };
}

const isOpen = (stream: Received): boolean => !stream.ended();

describe('a stream whose token expires', () => {
  it('ends; its client gets a challenge and, with a new token, the remaining events', async () => {
    const token = shortToken();
    const session = await openBearerSession(url, token);
    const [main, other] = [await openGet(url, session), await openBearerSession(url, issuer.token({ sub: 'bob' }))];
    const bobs = await openGet(url, other);
    const call = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'slow_tool', arguments: {} } };
    const running = await openPost(url, session, call);
    await expect.poll(() => running.methods()).toContain('notifications/message');
    expect([main, running, bobs].map(isOpen)).toEqual([true, true, true]);
    await expect.poll(() => [main, running].map(isOpen)).toEqual([false, false]);
    expect(isOpen(bobs)).toBe(true);
    const refused = await raw(url, { headers: { ...session.headers, accept: 'text/event-stream' } });
    expect(refused.status).toBe(401);
    expect(refused.headers['www-authenticate']).toContain('error="invalid_token"');
    const renewed = { headers: { ...session.headers, ...bearer(issuer.token()) } };
    const resumed = await openGet(url, renewed, running.lastEventId());
    expect([resumed.status, isOpen(resumed)]).toEqual([200, true]);
  });

  it('stays open while its session is used with a newer token of the same login', async () => {
    const session = await openBearerSession(url, shortToken());
    const stream = await openGet(url, session);
    await session.post('ping', {}, bearer(issuer.token()));
    const witness = await openGet(url, await openBearerSession(url, shortToken()));
    await expect.poll(() => isOpen(witness)).toBe(false);
    expect(isOpen(stream)).toBe(true);
  });

  it('ends over HTTP+SSE', async () => {
    const stream = await openLegacy(shortToken());
    const lasting = await openLegacy(issuer.token());
    expect(stream.isOpen()).toBe(true);
    await expect.poll(() => stream.isOpen()).toBe(false);
    expect(lasting.isOpen()).toBe(true);
  });

  it('ends when its key is removed from the key set', async () => {
    const session = await openBearerSession(url, issuer.token());
    const stream = await openGet(url, session);
    issuer.rotate();
    await expect.poll(async () => (await raw(url, { headers: bearer(issuer.token()) })).status).not.toBe(401);
    await expect.poll(() => isOpen(stream)).toBe(false);
  });
});

describe('a stream of an opaque token', () => {
  it('ends when introspection reports the token as inactive, and stays open while introspection is down', async () => {
    const [good, bad] = [issuer.opaqueToken(), issuer.opaqueToken()];
    const streams = await Promise.all(
      [good, bad].map(async (token) => openGet(url, await openBearerSession(url, token))),
    );
    const asked = (): number => issuer.seen.filter(({ endpoint }) => endpoint === 'introspection').length;
    issuer.behave = { introspection: 'status-500' };
    issuer.revoke(bad);
    const before = asked();
    await expect.poll(asked, { timeout: 8_000 }).toBeGreaterThan(before + 1);
    expect(streams.map(isOpen)).toEqual([true, true]);
    issuer.behave = {};
    await expect.poll(() => streams.map(isOpen)).toEqual([true, false]);
    expect((await raw(url, { headers: bearer(bad) })).status).toBe(401);
  });
});
