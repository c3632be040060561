import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import type { GatewayConfig } from '../../../gateway/contract/gateway-config.ts';
import { given } from '../../../gateway/authserver/testdata/given-config.ts';
import { startGateway } from '../../../gateway/process/gateway.ts';
import { createLog } from '../../../gateway/telemetry/log.ts';
import { freePort } from '../../harness/free-port.ts';
import { testScope } from '../../harness/scope.ts';
import { temporaryFolder } from '../../harness/vmcp.ts';

it('keeps the authorization server when a new configuration is unusable', async () => {
  const port = await freePort();
  const issuer = `http://127.0.0.1:${String(port)}`;
  const { embedded_auth_server_config: server, ...rest } = given({ issuer });
  const config: GatewayConfig = { ...rest, oidc_config: { issuer, audience: `${issuer}/mcp` } };
  const spec = (chosen: GatewayConfig) => ({ config: chosen, host: '127.0.0.1', port });
  const gateway = await startGateway({
    servers: [spec({ ...config, ...(server && { embedded_auth_server_config: server }) })],
    management: { host: '127.0.0.1', port: 0 },
    log: createLog(new PassThrough().resume(), 'error'),
    version: '0.0.0',
  });
  testScope().defer(() => gateway.stop(0));
  const metadata = async (): Promise<number> =>
    (await fetch(`${issuer}/.well-known/oauth-authorization-server`)).status;
  const registered = await fetch(`${issuer}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: ['https://client.example/cb'] }),
  });
  const { registration_client_uri: client, registration_access_token: token } = (await registered.json()) as {
    readonly registration_client_uri: string;
    readonly registration_access_token: string;
  };

  const ofCluster = { ...config, vmcp: { ...config.vmcp, incoming: { type: 'oidc', source: 'kubernetes' } } } as const;
  await expect(gateway.swap([spec(ofCluster)])).rejects.toThrow(/cluster/u);

  expect(await metadata()).toBe(200);
  expect((await fetch(client, { headers: { authorization: `Bearer ${token}` } })).status).toBe(200);
  await gateway.swap([spec({ ...config, vmcp: { ...config.vmcp, incoming: { type: 'oidc' } } })]);
  expect(await metadata()).toBe(404);
});

it('keeps the clients of each server when a limit changes, and in another process', async () => {
  const scope = testScope();
  const state = await temporaryFolder(scope);
  const ports = [await freePort(), await freePort()];
  const specs = (maxClients: number) =>
    ports.map((port, index) => {
      const issuer = `http://127.0.0.1:${String(port)}`;
      const storage = { type: 'memory', max_dcr_clients: maxClients };
      const config = { ...given({ issuer, storage }), name: `server-${String(index)}` };
      const oidc_config = { issuer, audience: `${issuer}/mcp` };
      return { config: { ...config, oidc_config }, host: '127.0.0.1', port, stateDir: `${state}/${String(index)}` };
    });
  const start = (maxClients: number) =>
    startGateway({
      servers: specs(maxClients),
      management: { host: '127.0.0.1', port: 0 },
      log: createLog(new PassThrough().resume(), 'error'),
      version: '0.0.0',
    });
  const first = await start(10);
  scope.defer(() => first.stop(0));
  const [one, other] = ports.map((port) => `http://127.0.0.1:${String(port)}`);
  const made = await fetch(`${one ?? ''}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: ['https://client.example/cb'] }),
  });
  const { client_id: id } = (await made.json()) as { readonly client_id: string };
  const page = async (issuer: string | undefined): Promise<string> =>
    (await fetch(`${issuer ?? ''}/oauth/authorize?client_id=${id}`)).text();
  const keys = async (): Promise<unknown> =>
    Promise.all([one, other].map(async (issuer) => (await fetch(`${issuer ?? ''}/.well-known/jwks.json`)).json()));
  const published = await keys();
  await first.swap(specs(20));
  expect(await page(one)).not.toContain('not known here');
  await first.stop(0);

  const second = await start(20);
  scope.defer(() => second.stop(0));
  expect(await page(one)).not.toContain('not known here');
  expect(await page(other)).toContain('not known here');
  expect(await keys()).toEqual(published);
  expect(new Set(JSON.stringify(published).match(/"kid":"[^"]+"/gu)).size).toBe(2);
});
