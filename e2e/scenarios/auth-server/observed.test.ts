import { describe, expect, it } from 'vitest';
import { freePort } from '../../harness/free-port.ts';
import { eventually } from '../../harness/poll.ts';
import { hasRedis, startRedis } from '../../harness/redis.ts';
import { ScriptedBrowser } from '../../harness/browser/scripted-browser.ts';
import { testScope } from '../../harness/scope.ts';
import { startVmcp, type Vmcp } from '../../harness/vmcp.ts';
import { startAuthServer } from './gateway.ts';
import { manifestsOf } from './manifests.ts';
import { OAuthClient } from './oauth-client.ts';
import { startSurroundings } from './surroundings.ts';

async function metricsOf({ management }: Vmcp): Promise<string> {
  const answer = await fetch(`${management}/metrics`);
  expect(answer.status).toBe(200);
  return answer.text();
}

const CLIENTS = /^vmcp_auth_server_registered_clients\{server="default\/[^"]+"\} (\d+)$/mu;

const incomingOf = async ({ management }: Vmcp) =>
  ((await (await fetch(`${management}/status`)).json()) as { readonly incoming: Readonly<Record<string, unknown>> })
    .incoming;

describe('a gateway with an embedded authorization server', () => {
  it('has metrics of the duration of provider requests and of the number of clients', async () => {
    const { vmcp, issuer, around } = await startAuthServer(testScope());
    expect(CLIENTS.exec(await metricsOf(vmcp))?.[1]).toBe('0');
    const client = await OAuthClient.register(issuer);
    const { refresh_token: token = '' } = await client.login(new ScriptedBrowser({ user: 'ann' }));
    await client.revoke(token);
    const uses = (metrics: string): string[] =>
      [...metrics.matchAll(/^vmcp_auth_server_upstream_seconds_count\{server="default\/[^"]+",(.*)\} 1$/gmu)].map(
        ([, labels = '']) => labels,
      );
    const seen = await eventually('logins and revocations are counted', async () => {
      const found = uses(await metricsOf(vmcp));
      return found.length === 4 && found;
    });
    expect(seen.toSorted()).toEqual([
      'provider="chat",operation="login",outcome="ok"',
      expect.stringMatching(/^provider="chat",operation="revoke",outcome="(not_)?revoked"$/u),
      'provider="corp",operation="login",outcome="ok"',
      expect.stringMatching(/^provider="corp",operation="revoke",outcome="(not_)?revoked"$/u),
    ]);
    const metrics = await metricsOf(vmcp);
    expect(CLIENTS.exec(metrics)?.[1]).toBe('1');
    for (const secret of [around.corpClient.secret, client.client.client_id, 'ann'])
      expect(metrics).not.toContain(secret);
  });

  it.skipIf(!hasRedis)('serves the other metrics while the store does not answer', async () => {
    const scope = testScope();
    const redis = await startRedis(scope);
    const { vmcp } = await startAuthServer(scope, { kvstore: { addr: `127.0.0.1:${String(redis.port)}` } });
    expect(CLIENTS.exec(await metricsOf(vmcp))?.[1]).toBe('0');
    redis.pause();
    try {
      const metrics = await metricsOf(vmcp);
      expect(metrics).not.toMatch(CLIENTS);
      expect(metrics).toMatch(/^vmcp_sessions\{/mu);
    } finally {
      redis.resume();
    }
    await eventually('the clients are counted again', async () => CLIENTS.test(await metricsOf(vmcp)));
  });

  it('is ready and names unavailable providers in /status', async () => {
    const { vmcp } = await startAuthServer(testScope(), {
      authServer: {
        upstreamProviders: [
          {
            name: 'gone',
            type: 'oidc',
            oidcConfig: { issuerUrl: `http://127.0.0.1:${String(await freePort())}`, clientId: 'vmcp' },
          },
          {
            name: 'chat',
            type: 'oauth2',
            oauth2Config: {
              authorizationEndpoint: 'https://chat.example/authorize',
              tokenEndpoint: 'https://chat.example/token',
              clientId: 'vmcp',
            },
          },
          { name: 'corp', type: 'oidc', oidcConfig: { issuerUrl: 'http://127.0.0.1:9', clientId: 'vmcp' } },
        ],
      },
    });
    await expect
      .poll(() => incomingOf(vmcp))
      .toMatchObject({
        type: 'oidc',
        ready: true,
        reason: 'IdentityProviderUnavailable',
        message: 'logins at "gone", "corp" fail: see the log',
      });
  });

  it('names no provider in /status while all answer', async () => {
    const { vmcp } = await startAuthServer(testScope());
    await eventually('the providers are probed', async () => (await incomingOf(vmcp))['reason'] === undefined);
    expect(await incomingOf(vmcp)).toEqual({ type: 'oidc', ready: true });
  });

  it('warns at the start when the port of the issuer is not the port of the listener', async () => {
    const scope = testScope();
    const [issuerPort, port] = [await freePort(), await freePort()];
    const issuer = `http://127.0.0.1:${String(issuerPort)}`;
    const files = { 'gateway.yaml': manifestsOf(issuer, await startSurroundings(scope, issuer)) };
    const vmcp = await startVmcp(scope, { files, port });
    const lines = () =>
      vmcp
        .stderr()
        .split('\n')
        .filter((line) => line.includes(`port ${String(issuerPort)}`));
    await expect.poll(lines).toEqual([expect.stringContaining(`listens on port ${String(port)}`)]);
  });
});
