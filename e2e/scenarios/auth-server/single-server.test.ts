import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CLUSTER_PLATFORM } from '../../../operator/render/index.ts';
import { startHttpBackend } from '../../harness/backends/http.ts';
import { freePort } from '../../harness/free-port.ts';
import { testScope } from '../../harness/scope.ts';
import { startGateway, temporaryFolder, writeFiles } from '../../harness/vmcp.ts';
import { ownGatewayConfig } from '../policies/own-gateway.ts';
import { ScriptedLogin } from '../scripted-login.ts';
import { SDKS } from '../sdk-login.ts';
import { startSurroundings } from './surroundings.ts';

/** Addresses that the test replaces by loopback ones, which the operator rejects. */
const ISSUER = 'https://files.example.com';
const PROVIDER = 'https://idp.example.com';

const manifest = (clientId: string, port: string): string => `
apiVersion: v1
kind: Secret
metadata: { name: corp }
stringData: { secret: any }
---
apiVersion: vmcp.dev/v1alpha1
kind: MCPOIDCConfig
metadata: { name: own }
spec: { type: inline, inline: { issuer: '${ISSUER}' } }
---
apiVersion: vmcp.dev/v1alpha1
kind: MCPExternalAuthConfig
metadata: { name: logins }
spec:
  type: embeddedAuthServer
  embeddedAuthServer:
    issuer: ${ISSUER}
    upstreamProviders:
      - name: corp
        type: oidc
        oidcConfig:
          issuerUrl: ${PROVIDER}
          clientId: ${clientId}
          clientSecretRef: { name: corp, key: secret }
          scopes: [openid, offline_access]
---
apiVersion: vmcp.dev/v1alpha1
kind: MCPServer
metadata: { name: files }
spec:
  image: registry.example.com/files:1
  transport: streamable-http
  mcpPort: ${port}
  replicas: 1
  oidcConfigRef: { name: own, audience: '${ISSUER}/mcp' }
  authServerRef: { name: logins }
`;

it.each(SDKS)('%s logs in at the authorization server of a single server', async (_, connect) => {
  const scope = testScope();
  const port = await freePort();
  const issuer = `http://127.0.0.1:${String(port)}`;
  const { corp, corpClient } = await startSurroundings(scope, issuer);
  const backend = await startHttpBackend(scope, 'sdk-1-stateful', 'files');
  const secrets = await temporaryFolder(scope);
  await writeFiles(secrets, { 'corp/secret': corpClient.secret });
  const config = await ownGatewayConfig(scope, manifest(corpClient.id, new URL(backend.url).port));
  const local = config
    .replaceAll(ISSUER, issuer)
    .replaceAll(PROVIDER, corp.issuer)
    .replaceAll(CLUSTER_PLATFORM.secretsDir, join(secrets));
  const gateway = await startGateway(scope, local, { port });
  const login = new ScriptedLogin('alice');
  const client = await connect(scope, gateway.url, login);
  expect(login.logins).toBe(1);
  expect(await client.tools()).toContain('whoami');
  expect(await client.call('whoami')).toMatch(/^files /u);
});
