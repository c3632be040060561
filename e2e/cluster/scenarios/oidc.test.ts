import { beforeAll, describe, expect, it } from 'vitest';
import { MCP_HEADERS, openSession, raw, rpc, textOf } from '../../harness/clients/raw.ts';
import { startIdentityProvider, type IdentityProvider } from '../../harness/identity-provider.ts';
import { eventually } from '../../harness/poll.ts';
import { blockScope } from '../../harness/scope.ts';
import { connectCluster } from '../harness/cluster.ts';
import { exampleManifests } from './example.ts';

const cluster = connectCluster();
const NAMESPACE = 'oidc';
const RESOURCE = 'https://mcp.example.com/mcp';

describe('the example kubernetes-oidc', () => {
  const scope = blockScope();
  let provider: IdentityProvider;
  let url = '';

  beforeAll(async () => {
    provider = await startIdentityProvider(scope, { host: cluster.reach.hostAddress });
    await cluster.namespace(scope, NAMESPACE);
    const manifests = exampleManifests('kubernetes-oidc', {
      'issuer: https://idp.example.com': `insecureAllowHTTP: true\n        jwksAllowPrivateIP: true\n        issuer: ${provider.issuer}`,
    });
    await cluster.apply(NAMESPACE, manifests);
    await cluster.condition(NAMESPACE, 'virtualmcpserver', 'team', { type: 'Ready' });
    url = `${await cluster.serviceUrl(NAMESPACE, 'vmcp-team')}/mcp`;
  });

  it('kubernetes-oidc: rejects a request without a token with the metadata URL, and accepts a token for this server', async () => {
    const ask = (token?: string) =>
      raw(url, {
        method: 'POST',
        headers: { ...MCP_HEADERS, ...(token !== undefined && { authorization: `Bearer ${token}` }) },
        body: rpc('tools/list'),
      });
    const stranger = await ask();
    expect(stranger.status).toBe(401);
    expect(stranger.headers['www-authenticate']).toContain(
      'resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp"',
    );
    expect((await ask(await provider.token('ann', 'https://other.example.com/mcp'))).status).toBe(401);
    const token = await provider.token('ann', RESOURCE);
    await eventually('a call is answered', async () => {
      const session = await openSession(url, undefined, { authorization: `Bearer ${token}` });
      return textOf(await session.call('web_echo', { text: 'known' })).includes('known');
    });
  });

  it('runs both pods', async () => {
    const readyReplicas = async () =>
      (await cluster.get(NAMESPACE, 'deployment', 'vmcp-team'))?.status?.['readyReplicas'];
    await expect.poll(readyReplicas, { timeout: 60_000 }).toBe(2);
    expect(await cluster.get(NAMESPACE, 'poddisruptionbudget', 'vmcp-team')).toBeDefined();
  });
});
