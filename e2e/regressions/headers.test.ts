import { describe, expect, it } from 'vitest';
import { openSession, raw, textOf, type RawSession } from '../harness/clients/raw.ts';
import { entry, resource, secret, type Manifest } from '../harness/manifests.ts';
import { testScope } from '../harness/scope.ts';
import { startMcpServer } from '../faults/mcp-server.ts';
import { gateway, rarely } from './gateway.ts';

describe('forwarded headers', () => {
  const setup = async () => {
    const backend = await startMcpServer(testScope(), 'one');
    const headerForward = { addPlaintextHeaders: { 'X-Injected': 'by-the-gateway' } };
    const backends = [entry('one', backend.url, 'streamable-http', { headerForward })];
    const vmcp = await gateway(backends, { operational: rarely, passthroughHeaders: ['X-Tenant', 'X-Injected'] });
    const session = await openSession(vmcp.url);
    const call = async (headers: Readonly<Record<string, string>>) => {
      expect(textOf(await session.call('one_tool', { text: 'x' }, { headers }))).toBe('tool x');
      return backend.seen.findLast(({ method }) => method === 'tools/call')?.headers ?? {};
    };
    return { vmcp, backend, session, call };
  };

  it('are those of the current request, not of the first request of the session', async () => {
    const { call } = await setup();
    expect((await call({ 'x-tenant': 'a' }))['x-tenant']).toBe('a');
    expect((await call({}))['x-tenant']).toBeUndefined();
    expect((await call({ 'x-tenant': 'b' }))['x-tenant']).toBe('b');
  });

  it('include no unlisted header and no header that identifies the client', async () => {
    const { call } = await setup();
    const seen = await call({
      authorization: 'Bearer secret',
      cookie: 'a=b',
      'x-other': 'x',
      'x-forwarded-for': '1.2.3.4',
    });
    const passed = ['authorization', 'cookie', 'x-other', 'x-forwarded-for'].filter((name) => seen[name] !== undefined);
    expect(passed).toEqual([]);
  });

  it('do not remove a header of the gateway, even if Connection names it', async () => {
    const { call } = await setup();
    const seen = await call({ connection: 'x-injected, authorization, mcp-session-id', 'x-injected': 'by-the-client' });
    expect(seen['x-injected']).toBe('by-the-gateway');
    expect(seen['mcp-session-id']).toBeDefined();
    expect(seen.connection ?? '').not.toContain('x-injected');
  });

  it('include an Authorization from a Secret, unless a strategy sets one', async () => {
    const servers = await Promise.all(['one', 'two'].map((name) => startMcpServer(testScope(), name)));
    const from = (key: string) => ({ headerName: 'Authorization', valueSecretRef: { name: 'keys', key } });
    const headerForward = { addHeadersFromSecret: [from('fixed')] };
    const strategy = { type: 'headerInjection', headerInjection: from('injected') };
    const [one, two] = servers.map(({ url }, index) =>
      entry(index === 0 ? 'one' : 'two', url, 'streamable-http', {
        headerForward,
        ...(index === 1 && { externalAuthConfigRef: { name: 'own' } }),
      }),
    ) as [Manifest, Manifest];
    const keys = secret('keys', { fixed: 'Basic fixed', injected: 'Bearer injected' });
    const vmcp = await gateway([one, two, keys, resource('MCPExternalAuthConfig', 'own', strategy)], {
      operational: rarely,
    });
    const session = await openSession(vmcp.url);
    const headers = { authorization: 'Bearer of-the-client' };
    for (const name of ['one_tool', 'two_tool']) await session.call(name, { text: 'x' }, { headers });
    const seen = servers.map((server) => [...new Set(server.seen.map(({ headers: sent }) => sent.authorization))]);
    expect(seen).toEqual([['Basic fixed'], ['Bearer injected']]);
  });

  it('of two sessions are never mixed', async () => {
    const { vmcp, backend } = await setup();
    const sessions = await Promise.all(
      ['a', 'b', 'c'].map(async (tenant) => ({ tenant, session: await openSession(vmcp.url) })),
    );
    const calls = sessions.flatMap(({ tenant, session }) =>
      Array.from({ length: 10 }, () => tenantCall(session, tenant)),
    );
    await Promise.all(calls);
    const seen = backend.seen.filter(({ method }) => method === 'tools/call');
    expect(seen).toHaveLength(30);
    for (const { body, headers } of seen) expect(body).toContain(`"of ${String(headers['x-tenant'])}"`);
  });
});

const tenantCall = (session: RawSession, tenant: string) =>
  session.call('one_tool', { text: `of ${tenant}` }, { headers: { 'x-tenant': tenant } });

describe('the management API', () => {
  it.each(['text/plain', 'application/json', 'application/x-www-form-urlencoded'])(
    'rejects a request from another origin with content type %s',
    async (type) => {
      const { vmcp } = await setupPlain();
      const headers = { origin: 'https://evil.example', 'content-type': type };
      for (const method of ['GET', 'POST']) {
        expect(
          (await raw(`${vmcp.management}/status`, { method, headers, body: method === 'POST' ? '{}' : '' })).status,
        ).toBe(403);
      }
    },
  );
});

async function setupPlain() {
  const backend = await startMcpServer(testScope(), 'one');
  return { vmcp: await gateway([entry('one', backend.url)], { operational: rarely }) };
}
