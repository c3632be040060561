import { describe, expect, it } from 'vitest';
import { startGatewayOver, type GatewayParts } from '../../harness/authenticated-gateway.ts';
import { startHttpBackend } from '../../harness/backends/http.ts';
import { readStream } from '../../harness/clients/event-stream.ts';
import { raw } from '../../harness/clients/raw.ts';
import { connectV1 } from '../../harness/clients/sdk-v1.ts';
import { freePort } from '../../harness/free-port.ts';
import { hasHaproxy, startHaproxy } from '../../harness/proxies/haproxy.ts';
import { eventually } from '../../harness/poll.ts';
import { testScope, type Scope } from '../../harness/scope.ts';
import { OAuthClient } from '../auth-server/oauth-client.ts';
import { ScriptedBrowser } from '../../harness/browser/scripted-browser.ts';
import { startAuthServer } from '../auth-server/gateway.ts';
import { ScriptedLogin } from '../scripted-login.ts';
import { SDKS } from '../sdk-login.ts';

const LOOPBACK = ['127.0.0.0/8'];

/** Rules of a proxy that serves a gateway below `/team`. */
const RULES = {
  'keeps the prefix': [],
  'removes the prefix': ['  http-request replace-path ^/team/?(.*)$ /\\1'],
  'removes the prefix and names it': [
    '  http-request set-header X-Forwarded-Prefix /team if { path_beg /team/ }',
    '  http-request replace-path ^/team/?(.*)$ /\\1',
  ],
} as const;
type Way = keyof typeof RULES;

/** Starts a proxy that passes on `/team` and the well-known documents that end with it, and nothing else. */
async function startProxy(scope: Scope, way: Way, port: number, target: number): Promise<void> {
  await startHaproxy(scope, [
    'frontend clients',
    `  bind 127.0.0.1:${String(port)}`,
    '  http-request deny unless { path -m reg ^(/.well-known/[a-z-]+)?/team(/|$) }',
    ...RULES[way],
    '  default_backend gateway',
    'backend gateway',
    `  server gateway 127.0.0.1:${String(target)}`,
  ]);
  await eventually('the proxy answers', async () => (await raw(`http://127.0.0.1:${String(port)}/`)).status === 403);
}

/** Starts an anonymous gateway below `/team`. Returns its public URL. */
async function startBelowTeam(scope: Scope, way: Way, parts: Partial<GatewayParts>): Promise<string> {
  const { url } = await startHttpBackend(scope, 'sdk-1-stateful', 'files');
  const backend = { name: 'files', transport: 'streamable-http', url, insecure_allow_http: true, allow_private_ips: true } as const; // oxfmt-ignore
  const { url: direct } = await startGatewayOver(scope, { backends: [backend], ...parts });
  const port = await freePort();
  await startProxy(scope, way, port, Number(new URL(direct).port));
  return `http://127.0.0.1:${String(port)}/team`;
}

describe.skipIf(!hasHaproxy)('a virtual server below /team', () => {
  it.each<[Way, Partial<GatewayParts>]>([
    ['keeps the prefix', { endpointPrefix: '/team' }],
    ['removes the prefix', { endpointPrefix: '/team/' }],
    ['removes the prefix and names it', { incoming: { trusted_proxies: LOOPBACK } }],
  ])('serves both transports behind a proxy that %s', async (way, parts) => {
    const scope = testScope();
    const base = await startBelowTeam(scope, way, parts);
    for (const target of [
      { transport: 'streamable-http', url: `${base}/mcp` },
      { transport: 'sse', url: `${base}/sse` },
    ] as const) {
      const { client, close } = await connectV1(target);
      scope.defer(close);
      expect((await client.listTools()).tools.length).toBeGreaterThan(0);
    }
    const page = await fetch(`${base}/mcp`, { headers: { accept: 'text/html' } });
    expect([page.status, page.url]).toEqual([200, `${base}/`]);
  });

  it.each([
    ['keeps the prefix', ...SDKS[0]],
    ['removes the prefix', ...SDKS[1]],
  ] as const)(
    'is found through the challenge and logs users in behind a proxy that %s, with %s',
    async (way, _sdk, connect) => {
      const scope = testScope();
      const port = await freePort();
      const issuer = `http://127.0.0.1:${String(port)}/team`;
      const gateway = await startAuthServer(scope, { issuer, mcpPath: '/team/mcp' });
      await startProxy(scope, way, port, gateway.vmcp.port);
      const origin = new URL(issuer).origin;
      const challenged = await raw(gateway.url, { method: 'POST' });
      const metadata = `${origin}/.well-known/oauth-protected-resource/team/mcp`;
      expect(challenged.status).toBe(401);
      expect(challenged.headers['www-authenticate']).toContain(`resource_metadata="${metadata}"`);
      expect(JSON.parse((await raw(metadata)).body)).toMatchObject({
        resource: `${issuer}/mcp`,
        authorization_servers: [issuer],
      });
      const sdk = await connect(scope, gateway.url, new ScriptedLogin('ben'));
      expect(JSON.parse(await sdk.call('files_whoami'))).toMatchObject({ sub: 'ben' });
      const client = await OAuthClient.register(issuer);
      expect((await client.login(new ScriptedBrowser({ user: 'ann' }))).access_token).toBeDefined();
    },
  );
});

describe('the messages endpoint of HTTP+SSE', () => {
  const endpointOf = async (parts: Partial<GatewayParts>, forwarded: string): Promise<string> => {
    const scope = testScope();
    const { url } = await startGatewayOver(scope, { backends: [], ...parts });
    const headers = { 'x-forwarded-prefix': forwarded, accept: 'text/event-stream' };
    const stream = await readStream(scope, new URL('/sse', url).href, { headers });
    await eventually('the endpoint is named', () => stream.endpoint() !== '');
    return stream.endpoint().replace(/\?.*/u, '');
  };

  it.each<[string, string, Partial<GatewayParts>, string]>([
    ['a trusted proxy', '/team', { incoming: { trusted_proxies: LOOPBACK } }, '/team/messages'],
    ['two trusted proxies', '/outer, /inner/', { incoming: { trusted_proxies: LOOPBACK } }, '/outer/inner/messages'],
    ['a stranger', '/team', {}, '/messages'],
    [
      'a proxy outside of the trusted networks',
      '/team',
      { incoming: { trusted_proxies: ['10.0.0.0/8'] } },
      '/messages',
    ],
    [
      'a trusted proxy that sends a URL',
      'https://evil.example',
      { incoming: { trusted_proxies: LOOPBACK } },
      '/messages',
    ],
    [
      'a trusted proxy, beside a configured prefix',
      '/other',
      { endpointPrefix: '/team', incoming: { trusted_proxies: LOOPBACK } },
      '/team/messages',
    ],
  ])('follows the prefix that %s names as far as it may', async (_, forwarded, parts, expected) => {
    expect(await endpointOf(parts, forwarded)).toBe(expected);
  });
});
