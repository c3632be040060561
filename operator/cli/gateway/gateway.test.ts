import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { VMCP } from '../../../gateway/contract/testdata/vmcp-config.ts';
import { render } from '../validate/render.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'vmcp-gateway-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const configOver = (
  backends: readonly object[],
  { incoming = { type: 'anonymous' }, outgoing_auth, ...more }: Record<string, unknown> = {},
) => ({
  schema_version: 'v0.1.0',
  ...more,
  vmcp: { ...VMCP, incoming, outgoing_auth, backends },
});

/** Runs `vmcp gateway` with a configuration. A gateway that starts is stopped after 20 s. */
async function gateway(config: object) {
  const file = join(dir, 'gateway.json');
  await writeFile(file, JSON.stringify(config));
  const options = { config: file, host: '127.0.0.1', port: 0, managementHost: '127.0.0.1', managementPort: 0 };
  const script = `import { gateway } from ${JSON.stringify(join(import.meta.dirname, 'gateway.ts'))};
    process.exitCode = await gateway(${JSON.stringify(options)});`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], { timeout: 20_000 });
  const exit = new Promise((resolve) => child.once('exit', resolve));
  const [code, stdout, stderr] = await Promise.all([exit, text(child.stdout), text(child.stderr)]);
  return { code, stdout, lines: stderr.replaceAll(`${dir}/`, '').split('\n').slice(0, -1) };
}

describe('vmcp gateway', () => {
  it('reports every unreadable file before it starts, and exits 2', async () => {
    await mkdir(join(dir, 'folder'));
    await writeFile(join(dir, 'good'), 'value');
    const url = 'http://127.0.0.1:9/mcp';
    const { code, stdout, lines } = await gateway(
      configOver([
        { name: 'a', transport: 'streamable-http', url, ca_bundle_file: join(dir, 'ca.crt') },
        {
          name: 'b',
          transport: 'sse',
          url,
          header_forward: { add_headers_from_file: { 'X-Key': join(dir, 'folder'), 'X-Good': join(dir, 'good') } },
        },
        {
          name: 'c',
          transport: 'stdio',
          process: { image: 'npx://c', env_var_files: { TOKEN: join(dir, 'good/token') } },
        },
      ]),
    );
    const missing = 'create it or correct the path [FileNotFound]';
    expect(lines).toEqual([
      `gateway.json: vmcp.backends[0].ca_bundle_file: ca.crt cannot be read (ENOENT): ${missing}`,
      'gateway.json: vmcp.backends[1].header_forward.add_headers_from_file.X-Key: folder cannot be read (EISDIR): ' +
        'use a file that this user can read [FileNotReadable]',
      `gateway.json: vmcp.backends[2].process.env_var_files.TOKEN: good/token cannot be read (ENOTDIR): ${missing}`,
    ]);
    expect([code, stdout]).toEqual([2, '']);
  });

  it('reports every unreadable file of the incoming and outgoing authentication', async () => {
    const { code, lines } = await gateway(
      configOver([{ name: 'a', transport: 'streamable-http', url: 'http://127.0.0.1:9/mcp' }], {
        oidc_config: {
          issuer: 'https://idp.example',
          audience: 'desk',
          clientID: 'desk',
          clientSecretFile: join(dir, 'secret'),
          authTokenFile: join(dir, 'token'),
          cacertPath: join(dir, 'ca.crt'),
        },
        incoming: { type: 'oidc' },
        outgoing_auth: {
          a: { type: 'header_injection', header_name: 'X-Key', header_value_file: join(dir, 'key') },
        },
      }),
    );
    const missing = 'create it or correct the path [FileNotFound]';
    expect(lines).toEqual([
      `gateway.json: oidc_config.clientSecretFile: secret cannot be read (ENOENT): ${missing}`,
      `gateway.json: oidc_config.authTokenFile: token cannot be read (ENOENT): ${missing}`,
      `gateway.json: oidc_config.cacertPath: ca.crt cannot be read (ENOENT): ${missing}`,
      `gateway.json: vmcp.outgoing_auth.a.header_value_file: key cannot be read (ENOENT): ${missing}`,
    ]);
    expect(code).toBe(2);
  });

  it('reports every file that its authorization server cannot use', async () => {
    const files = ['first.pem', 'hmac', 'client', 'ca.crt'].map((name) => join(dir, name));
    await Promise.all(files.map((file) => writeFile(file, file.endsWith('client') ? '\n' : 'canary')));
    const [, hmac, client, ca] = files as [string, string, string, string];
    const idp = { issuer_url: 'https://idp.example', client_id: 'desk', client_secret_file: client, ca_file: ca };
    const { code, lines } = await gateway(
      configOver([{ name: 'a', transport: 'streamable-http', url: 'http://127.0.0.1:9/mcp' }], {
        oidc_config: { issuer: 'https://desk.example', audience: 'https://desk.example/mcp' },
        incoming: { type: 'oidc' },
        embedded_auth_server_config: {
          schema_version: 'v0.1.0',
          issuer: 'https://desk.example',
          signing_key_config: { key_dir: dir, signing_key_file: 'first.pem' },
          hmac_secret_files: [hmac],
          upstreams: [{ name: 'corp', type: 'oidc', oidc_config: idp }],
        },
      }),
    );
    const at = 'gateway.json: embedded_auth_server_config';
    expect(lines).toEqual([
      expect.stringMatching(`^${at}.signing_key_config.signing_key_file: first.pem: there is no private key.*\\[Inv`),
      expect.stringMatching(`^${at}.hmac_secret_files\\[0\\]: hmac: the secret has 6 bytes.*\\[InvalidKeyFile\\]$`),
      `${at}.upstreams[0].oidc_config.client_secret_file: client: it is empty: add the value [SecretEmpty]`,
      expect.stringMatching(`^${at}.upstreams\\[0\\].oidc_config.ca_file: ca.crt: it contains no PEM certificate`),
    ]);
    expect(lines.join()).not.toContain('canary');
    expect(code).toBe(2);
  });

  it('does not listen with invalid incoming or outgoing authentication', async () => {
    const { code, lines } = await gateway(
      configOver([], {
        oidc_config: { issuer: 'http://idp.example' },
        incoming: { type: 'oidc' },
        outgoing_auth: { a: { type: 'header_injection', header_name: 'Host', header_value_file: '/key' } },
      }),
    );
    expect(lines).toEqual([
      expect.stringMatching(/^gateway\.json: oidc_config\.audience: .* \[MissingField\]$/u),
      expect.stringMatching(/^gateway\.json: oidc_config\.issuer: .* \[InsecureUrl\]$/u),
      expect.stringMatching(/^gateway\.json: vmcp\.outgoing_auth\.a\.header_name: .* \[RestrictedHeader\]$/u),
      expect.stringMatching(/^gateway\.json: vmcp\.outgoing_auth\.a: .* \[UnknownBackend\]$/u),
    ]);
    expect(code).toBe(2);
  });

  it('does not listen with a setting that it does not support', async () => {
    const { code, lines } = await gateway(configOver([], { tools_filter: ['a'], isolate_network: true }));
    expect(lines).toEqual([
      expect.stringMatching(/^gateway\.json: tools_filter: .* \[NotSupportedYet\]$/u),
      expect.stringMatching(/^gateway\.json: isolate_network: .* \[NotSupportedYet\]$/u),
    ]);
    expect(code).toBe(2);
  });
});

describe('vmcp render', () => {
  const manifests = (transport: string) => `apiVersion: vmcp.dev/v1alpha1
kind: MCPGroup
metadata: {name: tools}
spec: {}
---
apiVersion: vmcp.dev/v1alpha1
kind: MCPServer
metadata: {name: files}
spec: {image: "npx://files", transport: ${transport}, groupRef: {name: tools}}
---
apiVersion: vmcp.dev/v1alpha1
kind: VirtualMCPServer
metadata: {name: desk}
spec: {groupRef: {name: tools}, incomingAuth: {type: anonymous}}
`;

  const WARNING = /^(?=.*warning)a\.yaml:9: .*MCPServer\/files: spec\.transport: .*vmcp up \[NeedsVmcpUp\].*\n$/u;
  it.each([
    ['streamable-http', WARNING],
    ['sse', WARNING],
    ['stdio', /^$/u],
  ])('names the %s server that the document cannot start', async (transport, expected) => {
    await writeFile(join(dir, 'a.yaml'), manifests(transport));
    const out = { stdout: '', stderr: '' };
    const code = await render(
      [dir],
      {},
      {
        stdout: { write: (chunk: string) => (out.stdout += chunk) },
        stderr: { write: (chunk: string) => (out.stderr += chunk) },
      },
    );
    expect(code).toBe(0);
    expect(JSON.parse(out.stdout)).toMatchObject({ vmcp: { backends: [{ name: 'files', transport }] } });
    expect(out.stderr.replaceAll(`${dir}/`, '')).toMatch(expected);
  });
});
