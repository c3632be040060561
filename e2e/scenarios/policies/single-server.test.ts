import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { CLUSTER_PLATFORM, renderMCPServer } from '../../../operator/render/index.ts';
import { checkMCPServer } from '../../../operator/resolve/objects.ts';
import { loadManifests } from '../../../operator/source/files/load.ts';
import { startHttpBackend, type HttpKindName } from '../../harness/backends/http.ts';
import { MCP_HEADERS, initializeRequest, raw, type RawResponse } from '../../harness/clients/raw.ts';
import { startIdentityProvider } from '../../harness/identity-provider.ts';
import { testScope, type Scope } from '../../harness/scope.ts';
import { startGateway, temporaryFolder, writeFiles } from '../../harness/vmcp.ts';
import { bearer, openBearerSession } from '../bearer-session.ts';
import { eventsIn } from '../audit/lines.ts';

const AUDIENCE = 'https://files.example.com/mcp';
/** Addresses that the test replaces by loopback ones, which the operator rejects. */
const ISSUER = 'https://idp.example.com';
const HOOK = 'https://hooks.example.com';

const manifest = (transport: string, port: number): string => `
apiVersion: vmcp.dev/v1alpha1
kind: MCPOIDCConfig
metadata: { name: corp }
spec: { type: inline, inline: { issuer: '${ISSUER}' } }
---
apiVersion: vmcp.dev/v1alpha1
kind: MCPAuthzConfig
metadata: { name: rules }
spec:
  type: cedarv1
  config:
    policies:
      - 'permit(principal, action, resource);'
      - 'forbid(principal, action, resource == Tool::"environment");'
---
apiVersion: vmcp.dev/v1alpha1
kind: MCPWebhookConfig
metadata: { name: review }
spec: { validating: [{ name: review, url: '${HOOK}' }] }
---
apiVersion: vmcp.dev/v1alpha1
kind: MCPServer
metadata: { name: files }
spec:
  image: registry.example.com/files:1
  transport: ${transport}
  mcpPort: ${String(port)}
  replicas: 1
  oidcConfigRef: { name: corp, audience: '${AUDIENCE}' }
  authzConfigRef: { name: rules }
  webhookConfigRef: { name: review }
  rateLimiting: { tools: [{ name: whoami, perUser: { maxTokens: 2, refillPeriod: 1h } }] }
  audit: { enabled: true }
`;

/** Returns the configuration of the server's own gateway as the operator writes it into the ConfigMap. */
async function renderedConfig(scope: Scope, transport: string, port: number): Promise<string> {
  const folder = await temporaryFolder(scope);
  await writeFiles(folder, { 'server.yaml': manifest(transport, port) });
  const { snapshots, problems } = await loadManifests([folder]);
  expect(problems).toEqual([]);
  const snapshot = snapshots.get('default');
  const server = snapshot?.servers.get('files');
  if (!snapshot || !server) throw new Error('the manifest has no server');
  const check = checkMCPServer(server, snapshot, CLUSTER_PLATFORM);
  expect(check.problems).toEqual([]);
  const { config, mounts = [] } = check.gateway ?? {};
  const options = {
    gatewayImage: 'gateway:1',
    imagePullPolicy: 'IfNotPresent',
    imagePullSecrets: [],
    openshift: false,
    podDisruptionBudgets: false,
    networkPolicies: false,
  };
  const owner = { apiVersion: 'vmcp.dev/v1alpha1', kind: 'MCPServer', name: 'files', uid: '1', controller: true };
  const rendered = renderMCPServer(server, owner, options, config && { config, mounts });
  if ('problems' in rendered) throw new Error(JSON.stringify(rendered.problems));
  const document = rendered.objects.find(({ metadata }) => metadata.name === 'mcp-files-gateway-config');
  return (document?.['data'] as Readonly<Record<string, string>> | undefined)?.['config.json'] ?? '';
}

/** Starts a webhook that denies calls with an argument `deny`. */
async function startWebhook(scope: Scope): Promise<string> {
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { version, uid } = JSON.parse(body) as { readonly version: string; readonly uid: string };
      const answer = { version, uid, allowed: !body.includes('"deny"') };
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  scope.defer(() => server.close());
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
}

/** Runs a server with its own gateway. */
async function startServer(scope: Scope, kind: HttpKindName, transport: string) {
  const backend = await startHttpBackend(scope, kind, 'files');
  const provider = await startIdentityProvider(scope);
  const config = await renderedConfig(scope, transport, Number(new URL(backend.url).port));
  const local = config.replaceAll(ISSUER, provider.issuer).replaceAll(HOOK, await startWebhook(scope));
  const gateway = await startGateway(scope, local);
  const session = async (user: string) => openBearerSession(gateway.url, await provider.token(user, AUDIENCE));
  return { gateway, provider, session };
}

const reasonOf = ({ body }: RawResponse): string | undefined =>
  (JSON.parse(body) as { error?: { data?: { reason?: string } } }).error?.data?.reason;

describe('the own gateway of an MCPServer', () => {
  it.each<[HttpKindName, string]>([
    ['sdk-1-stateful', 'streamable-http'],
    ['sdk-1-sse', 'sse'],
  ])('enforces every control in front of %s', async (kind, transport) => {
    const scope = testScope();
    const { gateway, provider, session } = await startServer(scope, kind, transport);

    const open = { method: 'POST', headers: MCP_HEADERS, body: initializeRequest() };
    expect((await raw(gateway.url, open)).status).toBe(401);
    const foreign = bearer(await provider.token('alice', 'https://other.example.com/mcp'));
    expect((await raw(gateway.url, { ...open, headers: { ...MCP_HEADERS, ...foreign } })).status).toBe(401);

    const alice = await session('alice');
    const { body: tools } = await alice.post('tools/list');
    expect(tools).toContain('"whoami"');
    expect(tools).not.toContain('environment');
    expect((await alice.call('environment')).body).toContain('error');

    const answered = await alice.call('whoami');
    expect(answered.status).toBe(200);
    expect(answered.body).toContain('files');
    expect((await alice.call('whoami')).status).toBe(200);
    const limited = await alice.call('whoami');
    expect(limited.status).toBe(429);
    expect((await (await session('bob')).call('whoami')).status).toBe(200);

    expect((await alice.call('echo', { text: 'hello' })).body).toContain('hello');
    expect(reasonOf(await alice.call('echo', { text: 'deny' }))).toBeDefined();

    const events = eventsIn(gateway.stdout());
    expect(events.map(({ outcome }) => outcome)).toContain('success');
    expect(events.some(({ subjects }) => JSON.stringify(subjects).includes('alice'))).toBe(true);
  });
});
