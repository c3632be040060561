import { expect, it } from 'vitest';
import { startHttpBackend } from '../harness/backends/http.ts';
import { startIssuer } from '../harness/issuer.ts';
import { testScope } from '../harness/scope.ts';
import { startServe } from '../harness/serve.ts';
import { temporaryFolder } from '../harness/vmcp.ts';

it('uses a new client secret after an edit, and after the next start', async () => {
  const scope = testScope();
  const issuer = await startIssuer(scope);
  const { url } = await startHttpBackend(scope, 'sdk-1-stateful', 'alpha');
  const env = { VMCP_SECRETS_PASSWORD: 'of-the-test' };
  const { send } = await startServe(scope, await temporaryFolder(scope), [], { env });
  await send('POST', '/secrets', { provider_type: 'encrypted' });
  const client = {
    issuer: issuer.url,
    audience: 'vmcp',
    introspectionURL: issuer.introspectionUrl,
    clientID: 'vmcp',
  };
  const config = {
    ...{ name: 'a', remote_url: url, transport: 'streamable-http' },
    oidc_config: { ...client, clientSecret: 'wrong', allowPrivateIP: true },
  };
  const { port } = (await send('POST', '/workloads/import', config)).json as { port: number };
  const status = async () => (await send('GET', '/workloads/a/status')).json as { status_context?: string };
  await expect.poll(status, { timeout: 20_000 }).toEqual({ status: 'running' });
  const call = async () => {
    const token = issuer.opaqueToken({ sub: 'ann', aud: 'vmcp' });
    const headers = {
      ...{ authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      accept: 'application/json, text/event-stream',
    };
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'c', version: '1' } };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
    return (await fetch(`http://127.0.0.1:${String(port)}/mcp`, { method: 'POST', headers, body })).status;
  };
  expect(await call()).not.toBe(200);

  const oidc = (secret: string) => ({
    ...{ issuer: issuer.url, audience: 'vmcp', introspection_url: issuer.introspectionUrl, client_id: 'vmcp' },
    client_secret: secret,
  });
  expect((await send('POST', '/workloads/a/edit', { oidc: oidc(issuer.clientSecret) })).status).toBe(200);
  await expect.poll(call, { timeout: 20_000 }).toBe(200);

  expect((await send('POST', '/workloads/a/restart')).status).toBe(202);
  await expect.poll(call, { timeout: 20_000 }).toBe(200);
});
