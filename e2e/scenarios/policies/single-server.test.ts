import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { CLUSTER_PLATFORM } from '../../../operator/render/index.ts';
import { startHttpBackend, type HttpKindName } from '../../harness/backends/http.ts';
import { MCP_HEADERS, initializeRequest, raw, type RawResponse } from '../../harness/clients/raw.ts';
import { startIdentityProvider } from '../../harness/identity-provider.ts';
import { testScope, type Scope } from '../../harness/scope.ts';
import { startGateway, temporaryFolder, writeFiles } from '../../harness/vmcp.ts';
import { bearer, openBearerSession } from '../bearer-session.ts';
import { eventually } from '../../harness/poll.ts';
import { eventsIn } from '../audit/lines.ts';
import { groupGatewayConfig, ownGatewayConfig } from './own-gateway.ts';

const DESK = 'https://desk.example.com/mcp';
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
  groupRef: { name: tools }
  transport: ${transport}
  mcpPort: ${String(port)}
  replicas: 1
  oidcConfigRef: { name: corp, audience: '${AUDIENCE}' }
  authzConfigRef: { name: rules }
  webhookConfigRef: { name: review }
  rateLimiting: { tools: [{ name: whoami, perUser: { maxTokens: 2, refillPeriod: 1h } }] }
  audit: { enabled: true }
`;

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
  const config = await ownGatewayConfig(scope, manifest(transport, Number(new URL(backend.url).port)));
  const local = config.replaceAll(ISSUER, provider.issuer).replaceAll(HOOK, await startWebhook(scope));
  const gateway = await startGateway(scope, local);
  const session = async (user: string) => openBearerSession(gateway.url, await provider.token(user, AUDIENCE));
  return { gateway, provider, session };
}

/** A virtual server over the server, which presents `outgoing` to it. */
const virtualServer = (outgoing: string): string => `
---
apiVersion: vmcp.dev/v1alpha1
kind: MCPGroup
metadata: { name: tools }
---
apiVersion: v1
kind: Secret
metadata: { name: client }
stringData: { secret: vmcp-development-secret }
---
apiVersion: vmcp.dev/v1alpha1
kind: MCPExternalAuthConfig
metadata: { name: for-files }
spec:
  type: tokenExchange
  tokenExchange:
    tokenUrl: ${ISSUER}/token
    clientId: vmcp
    clientSecretRef: { name: client, key: secret }
    audience: ${AUDIENCE}
---
apiVersion: vmcp.dev/v1alpha1
kind: VirtualMCPServer
metadata: { name: desk }
spec:
  groupRef: { name: tools }
  incomingAuth: { type: oidc, audience: '${DESK}', oidcConfigRef: { name: corp } }
  outgoingAuth: ${outgoing}
`;
const EXCHANGE =
  '{ source: inline, backends: { files: { type: externalAuthConfigRef, externalAuthConfigRef: { name: for-files } } } }';

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
    expect([limited.status, limited.body]).toEqual([200, expect.stringContaining('rate_limited')]);
    expect((await (await session('bob')).call('whoami')).status).toBe(200);

    expect((await alice.call('echo', { text: 'hello' })).body).toContain('hello');
    expect(reasonOf(await alice.call('echo', { text: 'deny' }))).toBeDefined();

    const refused = () => eventsIn(gateway.stdout()).find(({ outcome }) => outcome === 'failure');
    await eventually('the refused call is recorded', () => refused() !== undefined);
    expect(refused()?.metadata).toMatchObject({
      extra: { status: 200, jsonrpc_error_code: 429, reason: 'rate_limited' },
    });
    const events = eventsIn(gateway.stdout());
    expect(events.map(({ outcome }) => outcome)).toContain('success');
    expect(events.some(({ subjects }) => JSON.stringify(subjects).includes('alice'))).toBe(true);
  });

  it('accepts a virtual server of the group with an exchanged token of the user, and refuses it without one', async () => {
    const scope = testScope();
    const { gateway, provider } = await startServer(scope, 'sdk-1-stateful', 'streamable-http');
    const secrets = await temporaryFolder(scope);
    await writeFiles(secrets, { 'client/secret': 'vmcp-development-secret' });
    const through = async (outgoing: string) => {
      const config = await groupGatewayConfig(scope, manifest('streamable-http', 8080) + virtualServer(outgoing));
      const local = config
        .replaceAll(ISSUER, provider.issuer)
        .replaceAll('http://mcp-files.default.svc.cluster.local:8080/mcp', gateway.url)
        .replaceAll(CLUSTER_PLATFORM.secretsDir, secrets);
      const desk = await startGateway(scope, local);
      return openBearerSession(desk.url, await provider.token('carol', DESK));
    };

    const exchanged = await through(EXCHANGE);
    const { body } = await exchanged.post('tools/list');
    expect(body).toContain('"files_whoami"');
    expect(body).not.toContain('environment');
    expect((await exchanged.call('files_whoami')).body).toContain('files ');
    await eventually('an event names the user', () =>
      eventsIn(gateway.stdout()).some(({ subjects }) => JSON.stringify(subjects).includes('carol')),
    );

    const bare = await through('{ source: inline }');
    expect((await bare.post('tools/list')).body).not.toContain('whoami');
  });
});
