import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it, afterAll, beforeAll } from 'vitest';
import { VMCP } from '../../gateway/contract/testdata/vmcp-config.ts';
import { render } from './validate/render.ts';
import { readConfigWithPolicyFile } from './gateway.ts';

describe('gateway', () => {
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
});

describe('policy file', () => {
  let dir: string;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'vmcp-policy-'));
  });
  afterAll(() => rm(dir, { recursive: true, force: true }));

  const OPEN = 'permit(principal, action, resource);';
  const documentOf = (...policies: string[]) => ({ version: '1.0', type: 'cedarv1', cedar: { policies } });

  /** Reads a configuration that names the file. */
  async function read(file: string, { vmcp = {}, ...more }: Record<string, unknown> = {}) {
    const config = {
      schema_version: 'v0.1.0',
      name: 'desk',
      authz_config_path: file,
      oidc_config: { issuer: 'https://idp.example', audience: 'desk' },
      vmcp: { ...VMCP, incoming: { type: 'oidc' }, ...(vmcp as object) },
      ...more,
    };
    const result = await readConfigWithPolicyFile(JSON.stringify(config));
    if ('config' in result) return result.config.authz_config;
    return result.problems.map(
      ({ path, reason, message }) => `${path}: ${message.replaceAll(`${dir}/`, '')} [${reason}]`,
    );
  }

  async function fileOf(name: string, content: string | Buffer): Promise<string> {
    await writeFile(join(dir, name), content);
    return join(dir, name);
  }

  it('takes the place of the member, as JSON or as YAML', async () => {
    const yaml = `version: "1.0"\ntype: cedarv1\ncedar:\n  policies:\n    - |-\n      ${OPEN}\n`;
    expect(await read(await fileOf('a.json', JSON.stringify(documentOf(OPEN))))).toEqual(documentOf(OPEN));
    expect(await read(await fileOf('a.yaml', yaml))).toEqual(documentOf(OPEN));
  });

  it('row 109: must be UTF-8', async () => {
    const latin1 = Buffer.from(`{"cedar":{"policies":["// \u00FC\\n${OPEN}"]}}`, 'latin1');
    const [problem] = (await read(await fileOf('latin1.json', latin1))) as string[];
    expect(problem).toBe('authz_config_path: latin1.json is not UTF-8: save it in that encoding [AuthzInvalid]');
  });

  it.each([
    ['no document', '{', /^authz_config_path: x is neither JSON nor YAML: .+ \[AuthzInvalid\]$/u],
    ['nothing', '', /^authz_config_path: x holds no document with policies: .+ \[AuthzInvalid\]$/u],
    ['null', 'null', /^authz_config_path: x holds no document with policies: .+ \[AuthzInvalid\]$/u],
    ['a list', '[]', /^authz_config_path: x holds no document with policies: .+ \[AuthzInvalid\]$/u],
    [
      'another type',
      JSON.stringify({ ...documentOf(OPEN), type: 'httpv1' }),
      /^authz_config_path: x: type: .+ \[InvalidValue\]$/u,
    ],
    [
      'an unknown field',
      JSON.stringify({ ...documentOf(OPEN), more: 1 }),
      /^authz_config_path: x: more: .+ \[UnknownField\]$/u,
    ],
    [
      'a policy with a mistake',
      JSON.stringify(documentOf(OPEN, 'permit(\nprincipal)')),
      /^authz_config_path: x: cedar.policies\[1\]: line 2, column 11: .+ \[AuthzInvalid\]$/u,
    ],
    [
      'an alias bomb',
      `a: &a [1,2,3,4,5,6,7,8,9]\nb: &b [${'*a,'.repeat(50)}]\nc: [${'*b,'.repeat(200)}]`,
      /\[AuthzInvalid\]$/u,
    ],
    ['too many bytes', ' '.repeat(1_100_000), /\[AuthzInvalid\]$/u],
  ])('is refused with %s', async (_what, content, expected) => {
    expect(await read(await fileOf('x', content))).toEqual([expect.stringMatching(expected)]);
  });

  it('is refused when it is missing, or beside the member', async () => {
    expect(await read(join(dir, 'none'))).toEqual([
      expect.stringMatching(/^authz_config_path: none cannot be read .+ \[FileNotFound\]$/u),
    ]);
    expect(await read(await fileOf('b', '{}'), { authz_config: documentOf(OPEN) })).toEqual([
      'authz_config_path: set authz_config or authz_config_path, not both: remove one [RuleViolated]',
    ]);
  });

  it('is refused outside of the mounted folders of a pod, also through a link', async () => {
    const folder = join(dir, 'mounted');
    await mkdir(folder);
    const outside = await fileOf('outside', JSON.stringify(documentOf(OPEN)));
    await symlink(outside, join(folder, 'link'));
    const cluster = {
      backends_config_map: 'b',
      virtual_mcp_server: 'v',
      reporting_interval: '30s',
      mounted_folders: [folder],
    };
    const vmcp = { namespace: 'team', cluster };
    for (const file of [outside, join(folder, '..', 'outside'), join(folder, 'link')]) {
      expect(await read(file, { vmcp })).toEqual([
        expect.stringMatching(/^authz_config_path: .+ \[PathNotMounted\]$/u),
      ]);
    }
    await writeFile(join(folder, 'policy'), JSON.stringify(documentOf(OPEN)));
    expect(await read(join(folder, 'policy'), { vmcp })).toEqual(documentOf(OPEN));
  });

  it('needs users', async () => {
    const file = await fileOf('c', JSON.stringify(documentOf(OPEN)));
    expect(await read(file, { oidc_config: undefined, vmcp: { incoming: { type: 'anonymous' } } })).toEqual([
      expect.stringMatching(/anonymous clients have no user/u),
    ]);
  });
});
