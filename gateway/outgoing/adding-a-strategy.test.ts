import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { GatewayConfig } from '../contract/gateway-config.ts';
import { copySources, type SourceCopy } from '../../e2e/harness/source-copy.ts';

let copy: SourceCopy;

const vmcp = (...args: string[]) => copy.node('operator/cli/main.ts', ...args);

/** A copy of the sources in which somebody has added a strategy: one file, and its line in the registry. */
beforeAll(async () => {
  copy = await copySources(['crds', 'gateway', 'operator']);
  const [before, after] = ['export const STRATEGIES = [', 'export const STRATEGIES = [toyStrategy, '];
  await copy.register('gateway/outgoing', 'toy-strategy.ts', 'toyStrategy', before, after);
  expect(await copy.node('crds/generate.ts')).toMatchObject({ code: 0, stderr: '' });
});
afterAll(() => copy.remove());

/** A VirtualMCPServer over one backend per MCPExternalAuthConfig of these names and members. */
async function manifest(name: string, configs: Readonly<Record<string, string>>): Promise<string> {
  const file = join(copy.folder, name);
  const objects = Object.entries(configs).map(
    ([config, member]) => `apiVersion: vmcp.dev/v1alpha1
kind: MCPExternalAuthConfig
metadata: { name: ${config} }
spec:
  type: toyLogin
  ${member}
---
apiVersion: vmcp.dev/v1alpha1
kind: MCPServerEntry
metadata: { name: ${config}-shop }
spec:
  groupRef: { name: tools }
  remoteUrl: http://127.0.0.1:3000/mcp
  transport: streamable-http
  externalAuthConfigRef: { name: ${config} }
---
`,
  );
  await writeFile(file, objects.join('') + FRONT);
  return file;
}

const FRONT = `apiVersion: vmcp.dev/v1alpha1
kind: MCPGroup
metadata: { name: tools }
spec: {}
---
apiVersion: vmcp.dev/v1alpha1
kind: VirtualMCPServer
metadata: { name: front }
spec: { groupRef: { name: tools }, incomingAuth: { type: anonymous } }
---
apiVersion: v1
kind: Secret
metadata: { name: shop }
stringData: { password: sesame }
`;

const GOOD = 'toyLogin: { userName: ann, passwordSecretRef: { name: shop, key: password } }';

interface CrdSchema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly description?: string;
  readonly properties: Readonly<Record<string, CrdSchema>>;
  readonly 'x-kubernetes-validations'?: readonly unknown[];
}

describe('a strategy that one file and one registry line add', () => {
  it('adds an enum value, a member and validation rules to the CRD', async () => {
    const crd = parse(await readFile(join(copy.folder, 'crds', 'mcpexternalauthconfigs.yaml'), 'utf8')) as {
      spec: { versions: [{ schema: { openAPIV3Schema: CrdSchema } }] };
    };
    const spec = crd.spec.versions[0].schema.openAPIV3Schema.properties['spec'];
    expect(spec?.properties['type']?.enum).toContain('toyLogin');
    expect(spec?.properties['toyLogin']?.properties).toMatchObject({
      userName: { type: 'string', maxLength: 64, description: 'Who logs in.' },
      passwordSecretRef: { type: 'object' },
    });
    expect(spec?.properties['toyLogin']?.['x-kubernetes-validations']).toEqual([
      {
        rule: "!self.userName.contains(':')",
        message: 'userName must not contain a colon',
        fieldPath: '.userName',
      },
    ]);
    expect(spec?.['x-kubernetes-validations']).toContainEqual({
      rule: "(self.type == 'toyLogin') == has(self.toyLogin)",
      message: 'set toyLogin if and only if type is toyLogin',
      fieldPath: '.toyLogin',
    });
  });

  it('adds rows to the reference documentation', async () => {
    const reference = await readFile(join(copy.folder, 'docs', 'reference', 'mcpexternalauthconfig.md'), 'utf8');
    const rows = reference.split('\n').map((line) => line.replaceAll(/ {2,}/gu, ' '));
    expect(rows).toContain('| `spec.toyLogin.userName` | string | yes | | Who logs in. |');
    expect(rows).toContain('| `spec.toyLogin` | userName must not contain a colon |');
    expect(reference).toContain('`toyLogin`: User name and password.');
  });

  it('is validated by its schema, its rules, its own resolve function and a check of its Secrets', async () => {
    const file = await manifest('wrong.yaml', {
      'unknown-member': 'toyLogin: { userName: ann, user: b }',
      'broken-rule': 'toyLogin: { userName: "a:b" }',
      'missing-member': '',
      'own-problem': 'toyLogin: { userName: ann }',
      'missing-key': GOOD.replace('key: password', 'key: pin'),
      right: GOOD,
    });
    const { code, stdout, stderr } = await vmcp('validate', file);
    expect(code).toBe(2);
    const said = `${stdout}${stderr}`
      .split('\n')
      .flatMap((line) => /wrong\.yaml:\d+: MCPExternalAuthConfig\/(.+)$/u.exec(line)?.[1] ?? []);
    expect(said.toSorted()).toEqual([
      'broken-rule: spec.toyLogin.userName: userName must not contain a colon [RuleViolated]',
      expect.stringMatching(/^missing-key: spec\.toyLogin\.passwordSecretRef\.key: .*"pin".*\[SecretKeyNotFound\]$/u),
      'missing-member: spec.toyLogin: set toyLogin if and only if type is toyLogin [RuleViolated]',
      'own-problem: spec.toyLogin.passwordSecretRef: set the password [PasswordMissing]',
      expect.stringMatching(/^unknown-member: spec\.toyLogin\.user: .*\[UnknownField\]$/u),
    ]);
  });

  it('is rendered with the path of its secret, and the gateway acts on the rendered configuration', async () => {
    const { code, stdout } = await vmcp('render', await manifest('right.yaml', { right: GOOD }));
    expect(code).toBe(0);
    expect(stdout).not.toContain('sesame');
    const config = JSON.parse(stdout) as GatewayConfig;
    const right = { type: 'toy_login', user_name: 'ann', password_file: '$STATE/secrets/default/shop/password' };
    expect(config.vmcp.outgoing_auth).toEqual({ 'right-shop': right });
    const entries = [
      right,
      { ...right, user_name: 7 },
      { ...right, user_name: 'root' },
      { ...right, password: 'sesame' },
    ];
    const problem = (member: string, reason: string) => ({
      problems: [expect.objectContaining({ path: `vmcp.outgoing_auth.right-shop.${member}`, reason })],
    });
    expect(await asRead(entries.map((entry) => withEntry(config, entry)))).toEqual([
      { headers: { authorization: `Basic ${btoa('ann:sesame')}` } },
      problem('user_name', 'InvalidType'),
      problem('user_name', 'InvalidValue'),
      problem('password', 'UnknownField'),
    ]);
  });
});

const withEntry = (config: GatewayConfig, entry: object) => ({
  ...config,
  vmcp: { ...config.vmcp, outgoing_auth: { 'right-shop': entry } },
});

/** Returns for each configuration the problems that the gateway of the copy finds, or its headers for the backend. */
async function asRead(configs: readonly object[]): Promise<unknown> {
  const script = `
    import { readGatewayConfig } from './gateway/read-gateway-config.ts';
    import { createAuthenticator } from './gateway/outgoing/index.ts';
    const act = ({ vmcp }) => createAuthenticator(vmcp.outgoing_auth['right-shop'], { readSecret: () => 'sesame' });
    const results = ${JSON.stringify(configs)}.map((config) => {
      const read = readGatewayConfig(JSON.stringify(config));
      return 'problems' in read ? read : { headers: act(read.config).headers(undefined) };
    });
    console.log(JSON.stringify(results));`;
  const { code, stdout, stderr } = await copy.node('--input-type=module', '--eval', script);
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
}
