import { describe, expect, it } from 'vitest';
import { createAuthority } from '../../../gateway/outbound/testdata/authority.ts';
import { forwardProxy } from '../../../gateway/outbound/testdata/forward-proxy.ts';
import { serveTlsInFront, trusted } from '../../../gateway/outbound/testdata/servers.ts';
import { startHttpBackend } from '../../harness/backends/http.ts';
import { openSession, raw, textOf } from '../../harness/clients/raw.ts';
import { configMap, entry, gatewayOver, group, virtualServer, yaml } from '../../harness/manifests.ts';
import { eventually } from '../../harness/poll.ts';
import { testScope, type Scope } from '../../harness/scope.ts';
import { runVmcp, startVmcp, type Vmcp } from '../../harness/vmcp.ts';

const PASSWORD = 'pass-canary';
const CREDENTIAL = `Basic ${Buffer.from(`user:${PASSWORD}`).toString('base64')}`;
const authority = createAuthority('corporation');

const INSECURE = { insecureAllowHTTP: true };

/** Three backends whose names only the proxy resolves: https, http and SSE. */
async function startBackends(scope: Scope) {
  const [sealed, plain, old] = await Promise.all([
    startHttpBackend(scope, 'sdk-1-stateful', 'sealed'),
    startHttpBackend(scope, 'sdk-1-stateless', 'plain'),
    startHttpBackend(scope, 'sdk-1-sse', 'old'),
  ]);
  const tls = await serveTlsInFront(Number(new URL(sealed.url).port), authority.sign('DNS:sealed.test'));
  const [plainUrl, oldUrl] = [plain, old].map(({ url }) => url);
  const urls = {
    sealed: `https://sealed.test:${String(tls)}/mcp`,
    plain: `http://plain.test:${new URL(plainUrl ?? '').port}/mcp`,
    old: `http://old.test:${new URL(oldUrl ?? '').port}/sse`,
  };
  const trust = { caBundleRef: { configMapRef: { name: 'corporation', key: 'ca.crt' } } };
  const files = {
    'gateway.yaml': yaml(
      ...[group(), virtualServer(), configMap('corporation', { 'ca.crt': authority.cert })],
      ...[
        entry('sealed', urls.sealed, 'streamable-http', trust),
        entry('plain', urls.plain, 'streamable-http', INSECURE),
      ],
      entry('old', urls.old, 'sse', INSECURE),
    ),
  };
  return { files, urls };
}

const variables = (port: number, credential = ''): Record<string, string> => ({
  HTTPS_PROXY: `http://${credential}127.0.0.1:${String(port)}`,
  http_proxy: `http://${credential}127.0.0.1:${String(port)}`,
});

const reasons = async ({ management }: Vmcp): Promise<Record<string, string | null>> => {
  const { body } = await raw(`${management}/api/backends/health`);
  const { backends } = JSON.parse(body) as { backends: Record<string, { reason: string | null }> };
  return Object.fromEntries(Object.entries(backends).map(([name, { reason }]) => [name, reason]));
};

describe('behind a forward proxy', () => {
  it('remote backends are reached through it: https in a tunnel, http and SSE in absolute form', async () => {
    const scope = testScope();
    const proxy = await forwardProxy({ authorization: CREDENTIAL });
    const { files, urls } = await startBackends(scope);
    const env = variables(proxy.port, `user:${PASSWORD}@`);
    const vmcp = await startVmcp(scope, { files, env });
    const session = await openSession(vmcp.url);
    await eventually('all tools are there', async () => {
      const names = await session.tools().then((tools) => JSON.stringify(tools));
      return ['sealed_echo', 'plain_echo', 'old_echo'].every((name) => names.includes(name));
    });
    for (const name of ['sealed', 'plain', 'old']) {
      expect(textOf(await session.call(`${name}_echo`, { text: 'hi' }))).toContain('hi');
    }
    expect(proxy.requests).toContain(`CONNECT ${new URL(urls.sealed).host}`);
    expect(proxy.requests).toContain(`POST ${urls.plain}`);
    expect(proxy.requests).toContain(`GET ${urls.old}`);
    const called = await runVmcp(scope, ['call', 'echo', '--arg', 'text=there', '--url', urls.plain], { env });
    expect([(await called.exited).code, called.stderr()]).toEqual([0, '']);
    expect(called.stdout()).toContain('there');
    await (
      await runVmcp(scope, ['validate', '--online', vmcp.folder], { env })
    ).exited;
    expect(proxy.requests).toContain(`HEAD ${urls.plain}`);
    expect(vmcp.output()).not.toMatch(new RegExp(`${PASSWORD}|${CREDENTIAL}`, 'u'));
  });

  it('the reason of a backend names a proxy that refuses, and not its credential', async () => {
    const scope = testScope();
    const proxy = await forwardProxy({ authorization: CREDENTIAL });
    const { files, urls } = await startBackends(scope);
    const vmcp = await startVmcp(scope, { files, env: variables(proxy.port, 'user:wrong-canary@') });
    const fault = (name: keyof typeof urls) =>
      `the proxy 127.0.0.1:${String(proxy.port)} answers HTTP 407 for ${new URL(urls[name]).host}: correct the credential in `;
    await eventually('the reasons name the proxy', async () => {
      const { sealed, plain, old } = await reasons(vmcp);
      return (
        sealed?.includes(`${fault('sealed')}HTTPS_PROXY`) === true &&
        plain?.includes(`${fault('plain')}http_proxy`) === true &&
        old?.includes(`${fault('old')}http_proxy`) === true
      );
    });
    const { body } = await raw(`${vmcp.management}/status`);
    expect(body).toContain(fault('sealed'));
    expect(vmcp.output() + body).not.toContain('wrong-canary');
    const called = await runVmcp(scope, ['call', 'echo', '--url', urls.plain], { env: variables(proxy.port) });
    expect((await called.exited).code).toBe(1);
    expect(called.stderr()).toContain(`answers HTTP 407 for ${new URL(urls.plain).host}: write USER:PASSWORD@`);
  });

  it('NODE_EXTRA_CA_CERTS is trusted for a proxy with TLS, and for servers whose TLS it inspects', async () => {
    const scope = testScope();
    const proxy = await forwardProxy({ tls: authority.sign('IP:127.0.0.1') });
    const backend = await startHttpBackend(scope, 'sdk-1-stateless', 'sealed');
    const inspected = authority.sign('DNS:sealed.test');
    const port = await serveTlsInFront(Number(new URL(backend.url).port), inspected);
    const url = `https://sealed.test:${String(port)}/mcp`;
    const env = {
      HTTPS_PROXY: `https://127.0.0.1:${String(proxy.port)}`,
      NODE_EXTRA_CA_CERTS: trusted(authority),
    };
    const vmcp = await startVmcp(scope, { files: gatewayOver([entry('sealed', url)]), env });
    const session = await openSession(vmcp.url);
    await eventually('the tool is there', async () => JSON.stringify(await session.tools()).includes('sealed_echo'));
    expect(textOf(await session.call('sealed_echo', { text: 'hi' }))).toContain('hi');
    expect(new Set(proxy.requests)).toEqual(new Set([`CONNECT sealed.test:${String(port)}`]));
    const called = await runVmcp(scope, ['tools', '--url', url], { env });
    expect([(await called.exited).code, called.stderr()]).toEqual([0, '']);
  });

  it.each(['up', 'serve', 'doctor'])(
    'vmcp %s exits 2 and names a variable that is no URL of a proxy',
    async (command) => {
      const env = { HTTPS_PROXY: 'socks5://user:canary@proxy.test:1080' };
      const run = await runVmcp(testScope(), [command, ...(command === 'up' ? ['.'] : [])], { env });
      expect((await run.exited).code).toBe(2);
      expect(run.stderr()).toMatch(/^HTTPS_PROXY is not the URL of an HTTP proxy: write http:\/\/HOST:PORT .*\n$/u);
      expect(run.stderr()).not.toContain('canary');
    },
  );
});
