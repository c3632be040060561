import { generateKeyPairSync, randomBytes, type KeyObject } from 'node:crypto';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { examine } from './examine.ts';
import { render, type RenderFlags } from './render.ts';
import { validate } from './validate.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'vmcp-validate-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const write = (name: string, text: string) => writeFile(join(dir, name), text);

/** Runs a command with the folder or the given paths. */
async function run(
  command: (paths: readonly string[], io: Parameters<typeof validate>[2]) => Promise<number>,
  paths: string[] = [dir],
) {
  const out = { stdout: '', stderr: '' };
  const io = {
    stdout: { write: (text: string) => (out.stdout += text) },
    stderr: { write: (text: string) => (out.stderr += text) },
  };
  const code = await command(paths, io);
  return { code, stdout: out.stdout.replaceAll(`${dir}/`, ''), stderr: out.stderr.replaceAll(`${dir}/`, '') };
}
const validateFolder = (paths?: string[]) => run((given, io) => validate(given, {}, io), paths);
const renderFolder = (options: RenderFlags = {}) => run((given, io) => render(given, options, io));

const API = 'apiVersion: vmcp.dev/v1alpha1';
const TOOLS = `${API}
kind: MCPGroup
metadata: {name: tools}
spec: {}
---
${API}
kind: MCPServer
metadata: {name: files}
spec: {image: "npx://files", groupRef: {name: tools}}
`;
const vmcp = (name: string, more = '', group = 'tools', namespace = 'default') => `${API}
kind: VirtualMCPServer
metadata: {name: ${name}, namespace: ${namespace}}
spec:
  groupRef: {name: ${group}}
  incomingAuth: {type: anonymous}
${more}`;

describe('vmcp validate', () => {
  it('counts valid servers and backends', async () => {
    await write('a.yaml', `${TOOLS}---\n${vmcp('desk')}`);
    expect(await validateFolder()).toEqual({ code: 0, stdout: 'ok: 1 VirtualMCPServer, 1 backend\n', stderr: '' });
  });

  it('prints one JSON document with -o json', async () => {
    await write('a.yaml', vmcp('desk', '', 'nowhere'));
    const { code, stdout, stderr } = await run((given, io) => validate(given, { output: 'json' }, io));
    expect({ code, stderr }).toEqual({ code: 2, stderr: '' });
    expect(JSON.parse(stdout)).toEqual({
      valid: false,
      virtualMCPServers: 1,
      backends: 0,
      problems: [
        {
          file: 'a.yaml',
          line: 5,
          column: expect.any(Number) as number,
          kind: 'VirtualMCPServer',
          namespace: 'default',
          name: 'desk',
          path: 'spec.groupRef.name',
          reason: 'GroupRefNotFound',
          message: expect.stringContaining('nowhere') as string,
        },
      ],
      warnings: [],
    });
  });

  it('prints every problem of every file as file:line: Kind/name: path: message [Reason], sorted by location', async () => {
    await write('b.yaml', vmcp('desk', '', 'nowhere'));
    await write('a.yaml', `${TOOLS}---\n${vmcp('other', '  config: {agregation: {}}\n')}`);
    await write('c.yaml', 'x: y: z\n');
    const { code, stdout, stderr } = await validateFolder();
    expect(code).toBe(2);
    expect(stdout.split('\n').slice(0, -1)).toEqual([
      expect.stringMatching(
        /^a\.yaml:17: VirtualMCPServer\/other: spec\.config\.agregation: .*aggregation.* \[UnknownField\]$/u,
      ),
      expect.stringMatching(/^b\.yaml:5: VirtualMCPServer\/desk: spec\.groupRef\.name: .* \[GroupRefNotFound\]$/u),
      expect.stringMatching(/^c\.yaml:1: Document\/1: -: .* \[InvalidYAML\]$/u),
    ]);
    expect(stderr).toBe('3 problems in 3 files\n');
  });

  it('prints warnings on stderr and still exits 0', async () => {
    await write('a.yaml', `${TOOLS}---\n${vmcp('desk', '  replicas: 2\n')}`);
    const { code, stdout, stderr } = await validateFolder();
    expect(code).toBe(0);
    expect(stdout).toBe('ok: 1 VirtualMCPServer, 1 backend\n');
    expect(stderr).toMatch(
      /^a\.yaml:17: VirtualMCPServer\/desk: spec\.replicas: .* \[ClusterOnly\] \(warning\)\n1 warning\n$/u,
    );
  });

  it('prints only problems on stdout', async () => {
    await write('a.yaml', `${TOOLS}---\n${vmcp('desk', '  replicas: 2\n')}---\n${vmcp('other', '', 'nowhere')}`);
    const { stdout, stderr } = await validateFolder();
    expect(stdout).toMatch(/^a\.yaml:\d+: VirtualMCPServer\/other: .* \[GroupRefNotFound\]\n$/u);
    expect(stderr).toMatch(/^a\.yaml:17: .* \[ClusterOnly\] \(warning\)\n1 problem in 1 file, 1 warning\n$/u);
  });

  it('prints a problem of a shared backend once', async () => {
    await write('a.yaml', `${TOOLS.replace('npx://files', 'ftp://files')}---\n${vmcp('one')}---\n${vmcp('two')}`);
    const { stdout, stderr } = await validateFolder();
    expect(stdout.match(/InvalidImageReference/gu)).toHaveLength(1);
    expect(stderr).toBe('1 problem in 1 file\n');
  });

  it('reports dangling references of objects that no server uses', async () => {
    await write(
      'a.yaml',
      `${TOOLS}---\n${vmcp('desk')}---\n${API}\nkind: MCPServer\nmetadata: {name: stray}\nspec: {image: "npx://a", groupRef: {name: tols}}\n`,
    );
    const { code, stdout } = await validateFolder();
    expect(code).toBe(2);
    expect(stdout).toMatch(/^a\.yaml:21: MCPServer\/stray: spec\.groupRef\.name: .* \[GroupRefNotFound\]\n$/u);
  });

  it('does not repeat the problems of a rejected object for its referrers', async () => {
    await write('a.yaml', `${TOOLS.replace('spec: {}', 'spec: {x: 1}')}---\n${vmcp('desk')}`);
    const { stdout } = await validateFolder();
    expect(stdout.split('\n')).toHaveLength(2);
    expect(stdout).toContain('[UnknownField]');
  });

  it('exits 2 for a missing path', async () => {
    const { code, stdout, stderr } = await validateFolder([join(dir, 'nope.yaml')]);
    expect(code).toBe(2);
    expect(stdout).toBe('nope.yaml:1: File/nope.yaml: -: no such file or folder: correct the path [FileNotFound]\n');
    expect(stderr).toBe('1 problem in 1 file\n');
  });
});

describe('vmcp render', () => {
  it('prints the configuration with sorted keys, reproducibly', async () => {
    await write('a.yaml', `${TOOLS}---\n${vmcp('desk')}`);
    const { code, stdout, stderr } = await renderFolder();
    expect([code, stderr]).toEqual([0, '']);
    const config = JSON.parse(stdout) as Record<string, unknown>;
    expect(Object.keys(config)).toEqual(['group', 'name', 'schema_version', 'vmcp']);
    expect((await renderFolder()).stdout).toBe(stdout);
  });

  it('prints the same configuration as YAML with -o yaml', async () => {
    await write('a.yaml', `${TOOLS}---\n${vmcp('desk')}`);
    const { code, stdout, stderr } = await renderFolder({ output: 'yaml' });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^group: tools\nname: desk\n/u);
    expect(parse(stdout)).toEqual(JSON.parse((await renderFolder({ output: 'json' })).stdout));
  });

  it('prints paths of secrets, not their values', async () => {
    const secret = 'apiVersion: v1\nkind: Secret\nmetadata: {name: api}\nstringData: {key: canary}\n';
    await write(
      'a.yaml',
      `${secret}---\n${TOOLS.replace('groupRef', 'secrets: [{name: api, key: key}], groupRef')}---\n${vmcp('desk')}`,
    );
    const { stdout } = await renderFolder({ stateDir: '/state' });
    expect(stdout).toContain('"key": "/state/secrets/default/api/key"');
    expect(stdout).not.toContain('canary');
  });

  it('requires a name when there are several servers, and lists them', async () => {
    await write('a.yaml', `${TOOLS}---\n${vmcp('two')}---\n${vmcp('one')}`);
    const { code, stdout, stderr } = await renderFolder();
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toBe('there are 2 VirtualMCPServers: choose one with --name (default/one, default/two)\n');
    expect(JSON.parse((await renderFolder({ name: 'one' })).stdout)).toMatchObject({ name: 'one' });
    expect(await renderFolder({ name: 'three' })).toMatchObject({ code: 2, stdout: '' });
  });

  it('distinguishes servers with one name by namespace', async () => {
    const other = TOOLS.replaceAll(/name: (tools|files)\}\nspec/gu, 'name: $1, namespace: other}\nspec');
    await write('a.yaml', `${TOOLS}---\n${other}---\n${vmcp('desk')}---\n${vmcp('desk', '', 'tools', 'other')}`);
    expect((await renderFolder({ name: 'desk' })).stderr).toContain('--name NAMESPACE/desk');
    expect(JSON.parse((await renderFolder({ name: 'other/desk' })).stdout)).toMatchObject({
      vmcp: { namespace: 'other' },
    });
  });

  it('prints problems on stderr and nothing on stdout', async () => {
    await write('a.yaml', vmcp('desk'));
    const { code, stdout, stderr } = await renderFolder();
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^a\.yaml:5: .*\[GroupRefNotFound\]\n1 problem in 1 file\n$/u);
  });

  it('renders a valid server beside an invalid one', async () => {
    await write('a.yaml', `${TOOLS}---\n${vmcp('good')}---\n${vmcp('bad', '', 'nowhere')}`);
    expect((await renderFolder({ name: 'good' })).code).toBe(0);
    expect((await renderFolder({ name: 'bad' })).code).toBe(2);
  });

  it('reports that there is nothing to render', async () => {
    await write('a.yaml', TOOLS);
    const { code, stderr } = await renderFolder();
    expect(code).toBe(2);
    expect(stderr).toContain('contain no VirtualMCPServer');
  });
});

describe('incoming and outgoing authentication', () => {
  const ACCESS = (issuer: string) => `${API}
kind: MCPGroup
metadata: {name: tools}
spec: {}
---
apiVersion: v1
kind: Secret
metadata: {name: keys}
data: {client: ${Buffer.from('canary-client').toString('base64')}}
stringData: {header: canary-header, exchange: canary-exchange}
---
${API}
kind: MCPOIDCConfig
metadata: {name: idp}
spec:
  type: inline
  inline:
    issuer: ${issuer}
    clientId: desk
    clientSecretRef: {name: keys, key: client}
    jwksAuthTokenPath: ${join('/nowhere', 'token')}
---
${API}
kind: MCPExternalAuthConfig
metadata: {name: key}
spec: {type: headerInjection, headerInjection: {headerName: X-Key, valueSecretRef: {name: keys, key: header}}}
---
${API}
kind: MCPExternalAuthConfig
metadata: {name: exchange}
spec:
  type: tokenExchange
  tokenExchange:
    tokenUrl: https://idp.example.com/token
    clientId: desk
    clientSecretRef: {name: keys, key: exchange}
---
${API}
kind: MCPServerEntry
metadata: {name: keyed}
spec: {remoteUrl: "https://a.example.com/mcp", transport: sse, groupRef: {name: tools}, externalAuthConfigRef: {name: key}}
---
${API}
kind: MCPServerEntry
metadata: {name: exchanged}
spec: {remoteUrl: "https://b.example.com/mcp", transport: sse, groupRef: {name: tools}, externalAuthConfigRef: {name: exchange}}
---
${API}
kind: VirtualMCPServer
metadata: {name: desk}
spec:
  groupRef: {name: tools}
  incomingAuth: {type: oidc, audience: desk, oidcConfigRef: {name: idp}}
  outgoingAuth: {backends: {keyed: {type: discovered}, exchanged: {type: discovered}}}
`;

  it('is rendered with the paths of secrets, not their values', async () => {
    await write('a.yaml', ACCESS('https://idp.example.com'));
    const { code, stdout, stderr } = await renderFolder({ stateDir: '/state' });
    expect(code).toBe(0);
    expect(stdout + stderr).not.toMatch(/canary/u);
    expect(JSON.parse(stdout)).toMatchObject({
      oidc_config: { issuer: 'https://idp.example.com', clientSecretFile: '/state/secrets/default/keys/client' },
      vmcp: {
        incoming: { type: 'oidc', source: 'inline' },
        outgoing_auth: {
          keyed: { type: 'header_injection', header_value_file: '/state/secrets/default/keys/header' },
          exchanged: { type: 'token_exchange', client_secret_file: '/state/secrets/default/keys/exchange' },
        },
      },
    });
  });

  it('is rejected at the line of the object with the problem', async () => {
    await write('a.yaml', ACCESS('https://10.0.0.7'));
    const { code, stdout } = await validateFolder();
    expect(stdout).toBe(
      'a.yaml:18: MCPOIDCConfig/idp: spec.inline.issuer: "10.0.0.7" is a private address: set spec.inline.allowPrivateIPs: true to allow it [PrivateAddress]\n',
    );
    expect(code).toBe(2);
  });

  it('needs files named by path only on the machine where it runs', async () => {
    await write('a.yaml', ACCESS('https://idp.example.com'));
    expect((await examine([dir], {}, '/state')).problems).toEqual([]);
    const { servers, problems } = await examine([dir], { needsFiles: true }, '/state');
    expect(problems).toMatchObject([
      { kind: 'VirtualMCPServer', name: 'desk', path: 'spec.incomingAuth', reason: 'FileNotFound' },
    ]);
    expect(problems[0]?.message).toContain('/nowhere/token');
    expect(servers.map(({ config }) => config)).toEqual([undefined]);
  });
});

const NEEDS_TOKEN = `${TOOLS}---
${API}
kind: MCPServer
metadata: {name: github}
spec: {image: "npx://github", groupRef: {name: tools}, env: [{name: TOKEN, fromEnv: GITHUB_TOKEN}]}
---
${vmcp('desk')}`;

describe('a host variable', () => {
  it('that is not set is a problem that names it, the .env file and the line of the field', async () => {
    await write('a.yaml', NEEDS_TOKEN);
    const { code, stdout } = await validateFolder();
    expect(stdout).toMatch(
      /^a\.yaml:\d+: MCPServer\/github: spec\.env\[0\]\.fromEnv: the variable GITHUB_TOKEN is set neither .* nor in \.env: .*GITHUB_TOKEN=VALUE to \.env \[HostVariableNotSet\]\n$/u,
    );
    expect(code).toBe(2);
    const rendered = await renderFolder();
    expect({ code: rendered.code, stdout: rendered.stdout }).toEqual({ code: 2, stdout: '' });
    expect(rendered.stderr).toContain('[HostVariableNotSet]');
  });

  it('leaves out only the server that needs it', async () => {
    await write('a.yaml', NEEDS_TOKEN);
    const { servers } = await examine([dir], {}, '/state');
    const members = servers.map(({ config, excluded }) => [config?.vmcp.backends ?? [], excluded]);
    expect(members.map((lists) => lists.map((list) => list.map(({ name }) => name)))).toEqual([
      [['files'], ['github']],
    ]);
  });

  it('is rendered as the path of a file, without its value', async () => {
    await write('a.yaml', NEEDS_TOKEN);
    const { code, stdout, stderr } = await renderFolder({ hostEnv: { GITHUB_TOKEN: 'canary' } });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('"TOKEN": "$STATE/secrets/default/github_env/GITHUB_TOKEN"');
    expect(stdout).not.toContain('canary');
  });

  it('from a .env that others can read causes a warning', async () => {
    await write('a.yaml', NEEDS_TOKEN);
    await write('.env', 'GITHUB_TOKEN=canary\n');
    await chmod(join(dir, '.env'), 0o644);
    const { code, stderr } = await validateFolder();
    expect(code).toBe(0);
    expect(stderr).toMatch(/^\.env:1: File\/\.env: .* \[EnvFileExposed\] \(warning\)\n1 warning\n$/u);
  });
});

const LOGIN = (signing: string, hmac: string, client = 'canary') => `${TOOLS}---
apiVersion: v1
kind: Secret
metadata: {name: keys}
stringData:
  signing: ${JSON.stringify(signing)}
  hmac: ${JSON.stringify(hmac)}
  client: ${JSON.stringify(client)}
---
${API}
kind: VirtualMCPServer
metadata: {name: desk}
spec:
  groupRef: {name: tools}
  incomingAuth:
    type: oidc
    oidcConfig: {type: inline, inline: {issuer: "https://desk.example.com", audience: "https://desk.example.com/mcp"}}
  authServerConfig:
    issuer: https://desk.example.com
    signingKeySecretRefs: [{name: keys, key: signing}]
    hmacSecretRefs: [{name: keys, key: hmac}]
    upstreamProviders:
      - name: corp
        type: oidc
        oidcConfig: {issuerUrl: "https://idp.example.com", clientId: desk, clientSecretRef: {name: keys, key: client}}
`;

const AUTH = 'spec.authServerConfig';
const pemOf = ({ privateKey }: { readonly privateKey: KeyObject }, options: object = {}): string =>
  privateKey.export({ type: 'pkcs8', format: 'pem', ...options }).toString();
const privateKey = (options?: object): string => pemOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }), options);
const RANDOM = randomBytes(48).toString('base64');

describe('keys of an authorization server', () => {
  it.each<[string, string, string]>([
    ['valid keys', LOGIN(privateKey(), RANDOM), ''],
    [
      'an encrypted key',
      LOGIN(privateKey({ cipher: 'aes-256-cbc', passphrase: 'canary' }), RANDOM),
      `InvalidKeyFile ${AUTH}.signingKeySecretRefs[0].key: key "signing" of Secret "keys": the key is encrypted`,
    ],
    [
      'a weak key',
      LOGIN(pemOf(generateKeyPairSync('rsa', { modulusLength: 1024 })), RANDOM),
      `InvalidKeyFile ${AUTH}.signingKeySecretRefs[0].key: key "signing" of Secret "keys": the RSA key has less than 2048`,
    ],
    [
      'an invalid key',
      LOGIN('canary', RANDOM),
      `InvalidKeyFile ${AUTH}.signingKeySecretRefs[0].key: key "signing" of Secret "keys": there is no private key in PEM`,
    ],
    [
      'a short secret',
      LOGIN(privateKey(), 'canary'),
      `InvalidKeyFile ${AUTH}.hmacSecretRefs[0].key: key "hmac" of Secret "keys": the secret has 6 bytes: use at least 32`,
    ],
    [
      'an empty client secret',
      LOGIN(privateKey(), RANDOM, '\n'),
      `SecretEmpty ${AUTH}.upstreamProviders[0].oidcConfig.clientSecretRef.key: key "client" of Secret "keys": it is empty`,
    ],
  ])('checks %s', async (_name, manifests, expected) => {
    await write('a.yaml', manifests);
    const { servers, problems } = await examine([dir], { needsFiles: true }, '/state');
    const said = problems.map(({ reason, path, message }) => `${reason} ${path}: ${message}`);
    expect(said).toEqual(expected === '' ? [] : [expect.stringContaining(expected)]);
    expect(said.join()).not.toMatch(/canary|BEGIN/u);
    expect(servers.map(({ config }) => config !== undefined)).toEqual([expected === '']);
  });

  it('are checked from files and from an empty --secrets-dir', async () => {
    await write('a.yaml', LOGIN('placeholder', 'placeholder'));
    const secretsDir = await mkdtemp(join(tmpdir(), 'vmcp-secrets-'));
    onTestFinished(() => rm(secretsDir, { recursive: true }));
    for (const options of [{}, { secretsDir }, { secretsDir, needsFiles: true }]) {
      const { problems } = await examine([dir], options, '/state');
      expect(problems.map(({ reason }) => reason)).toEqual(['InvalidKeyFile', 'InvalidKeyFile']);
    }
    expect((await validateFolder()).code).toBe(2);
  });
});

/** The private key of `desk` at a provider, and those of `other` at an issuer and at a token endpoint. */
const SIGNED = (key: string, algorithm = ''): string => {
  const client = (name: string) =>
    `clientId: desk, privateKeyJwt: {privateKeyRef: {name: ${name}, key: client}${algorithm}}`;
  const login = LOGIN(privateKey(), RANDOM, key);
  return `${login.replace('clientId: desk, clientSecretRef: {name: keys, key: client}', client('keys'))}---
apiVersion: v1
kind: Secret
metadata: {name: exchange}
stringData: {client: ${JSON.stringify(key)}}
---
${API}
kind: MCPOIDCConfig
metadata: {name: shared}
spec: {type: inline, inline: {issuer: "https://idp.example.com", ${client('keys')}}}
---
${API}
kind: MCPExternalAuthConfig
metadata: {name: exchange}
spec: {type: tokenExchange, tokenExchange: {tokenUrl: "https://idp.example.com/token", ${client('exchange')}}}
---
${API}
kind: MCPGroup
metadata: {name: others}
spec: {}
---
${API}
kind: MCPServerEntry
metadata: {name: remote}
spec: {remoteUrl: "https://mcp.example.com/mcp", transport: streamable-http, groupRef: {name: others}, externalAuthConfigRef: {name: exchange}}
---
${API}
kind: VirtualMCPServer
metadata: {name: other}
spec:
  groupRef: {name: others}
  incomingAuth: {type: oidc, audience: "https://desk.example.com/mcp", oidcConfigRef: {name: shared}}
  outgoingAuth: {backends: {remote: {type: discovered}}}
`;
};

describe('private keys of clients', () => {
  const PLACES = [
    [`VirtualMCPServer ${AUTH}.upstreamProviders[0].oidcConfig`, 'keys'],
    ['MCPExternalAuthConfig spec.tokenExchange', 'exchange'],
    ['MCPOIDCConfig spec.inline', 'keys'],
  ];

  it.each([
    ['a client secret', 'canary', '', 'there is no private key in PEM form'],
    [
      'a public key',
      JSON.stringify({ kty: 'EC', crv: 'P-256', x: 'canary', y: 'canary' }),
      '',
      'the JWK has no private part',
    ],
    ['a key for another algorithm', privateKey(), ', algorithm: RS256', 'the algorithm RS256 does not fit this key'],
  ])('are checked in every object that names one: %s', async (_what, key, algorithm, message) => {
    await write('a.yaml', SIGNED(key, algorithm));
    const { problems } = await examine([dir], { needsFiles: true }, '/state');
    const said = problems.map(({ kind, reason, path, message: text }) => `${reason} ${kind} ${path}: ${text}`);
    const expected = PLACES.map(
      ([place = '', name = '']) =>
        `InvalidKeyFile ${place}.privateKeyJwt.privateKeyRef.key: key "client" of Secret "${name}": ${message}`,
    );
    expect(said.toSorted()).toEqual(expected.toSorted().map((start) => expect.stringContaining(start) as string));
    expect(said.join()).not.toMatch(/canary|BEGIN/u);
  });

  it('are accepted as PEM and as JWK', async () => {
    const { privateKey: key } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    for (const text of [privateKey(), JSON.stringify(key.export({ format: 'jwk' }))]) {
      await write('a.yaml', SIGNED(text));
      expect((await examine([dir], { needsFiles: true }, '/state')).problems).toEqual([]);
    }
  });
});

describe('unused objects', () => {
  it('cause warnings that do not change the exit code', async () => {
    const object = (kind: string, name: string, spec: string): string =>
      `---\n${API}\nkind: ${kind}\nmetadata: {name: ${name}}\nspec: ${spec}\n`;
    await write(
      'a.yaml',
      [
        TOOLS,
        object('VirtualMCPServer', 'desk', '{groupRef: {name: tools}, incomingAuth: {type: anonymous}}'),
        object('MCPServer', 'loner', '{image: "npx://a"}'),
        object('MCPGroup', 'idle', '{}'),
        object('MCPExternalAuthConfig', 'idle', '{type: unauthenticated}'),
        object('MCPOIDCConfig', 'idle', '{type: inline, inline: {issuer: "https://idp.example.com"}}'),
        '---\napiVersion: v1\nkind: Secret\nmetadata: {name: idle}\nstringData: {a: canary}\n',
      ].join(''),
    );
    const { code, stderr } = await validateFolder();
    expect(code).toBe(0);
    expect([...stderr.matchAll(/: (\w+\/\w+): .*\[NotUsed\]/gu)].map(([, found]) => found)).toEqual([
      'MCPServer/loner',
      'MCPGroup/idle',
      'MCPExternalAuthConfig/idle',
      'MCPOIDCConfig/idle',
      'Secret/idle',
    ]);
  });
});
