import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { testScope } from '../../e2e/harness/scope.ts';
import type { GatewayConfig } from '../../gateway/contract/gateway-config.ts';
import { VMCP } from '../../gateway/contract/testdata/vmcp-config.ts';
import { unusableFiles } from './unusable-files.ts';

/** Creates a folder as the kubelet mounts it: keys are links below `..data`, a link to the newest version. */
async function mounted() {
  const folder = await mkdtemp(join(tmpdir(), 'vmcp-mounted-'));
  testScope().defer(() => rm(folder, { recursive: true }));
  const secrets = join(folder, 'secrets');
  await mkdir(join(secrets, '..2026', 'keys'), { recursive: true });
  await writeFile(join(secrets, '..2026', 'keys', 'api'), 'secret');
  await symlink('..2026', join(secrets, '..data'));
  await symlink('..data/keys', join(secrets, 'keys'));
  await writeFile(join(folder, 'outside'), 'secret');
  await symlink(join(folder, 'outside'), join(secrets, '..2026', 'keys', 'link'));
  return secrets;
}

const configOf = (folder: string, file: string): GatewayConfig => ({
  schema_version: 'v0.1.0',
  name: 'desk',
  vmcp: {
    ...VMCP,
    cluster: {
      backends_config_map: 'b',
      virtual_mcp_server: 'desk',
      reporting_interval: '1s',
      mounted_folders: [folder],
    },
    backends: [{ name: 'a', transport: 'sse', url: 'https://a.example/sse', ca_bundle_file: join(folder, file) }],
  },
});

it('accepts keys behind the links of a mounted volume', async () => {
  const secrets = await mounted();
  expect(await unusableFiles(configOf(secrets, 'keys/api'))).toEqual([]);
});

it('rejects a link out of the mounted folder', async () => {
  const secrets = await mounted();
  expect(await unusableFiles(configOf(secrets, 'keys/link'))).toMatchObject([
    { reason: 'PathNotMounted', path: 'vmcp.backends[0].ca_bundle_file' },
  ]);
});

it('rejects a file that is no private key of a client', async () => {
  const secrets = await mounted();
  const config = configOf(secrets, 'keys/api');
  const private_key_jwt = { private_key_file: join(secrets, 'keys', 'api') };
  const exchange = { type: 'token_exchange', token_url: 'https://idp.example/token', client_id: 'a', private_key_jwt };
  const checked = {
    ...config,
    oidc_config: { private_key_jwt },
    vmcp: { ...config.vmcp, outgoing_auth: { a: exchange } },
  };
  const message = expect.stringContaining('there is no private key in PEM form') as string;
  expect(await unusableFiles(checked)).toMatchObject([
    { reason: 'InvalidKeyFile', path: 'oidc_config.private_key_jwt.private_key_file', message },
    { reason: 'InvalidKeyFile', path: 'vmcp.outgoing_auth.a.private_key_jwt.private_key_file', message },
  ]);
});

it('rejects a short secret of a delegate client', async () => {
  const secrets = await mounted();
  const config = configOf(secrets, 'keys/api');
  const client_secret_file = join(secrets, 'keys', 'api');
  const server = { delegate_clients: [{ client_id: 'batch', client_secret_file }] };
  expect(await unusableFiles({ ...config, embedded_auth_server_config: server })).toMatchObject([
    {
      reason: 'InvalidKeyFile',
      path: 'embedded_auth_server_config.delegate_clients[0].client_secret_file',
      message: expect.stringContaining('the client secret has 6 characters: use at least 32') as string,
    },
  ]);
});
