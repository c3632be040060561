import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { GatewayConfig } from '../contract/gateway-config.ts';
import { copySources, type SourceCopy } from '../../e2e/harness/source-copy.ts';

let copy: SourceCopy;

const vmcp = (...args: string[]) => copy.node('operator/cli/main.ts', ...args);

/** Copies the sources and adds a mode: one file and one entry in the registry. */
beforeAll(async () => {
  copy = await copySources(['crds', 'gateway', 'operator']);
  const [before, after] = ['export const INCOMING = [', 'export const INCOMING = [toyMode, '];
  await copy.register('gateway/incoming', 'toy-mode.ts', 'toyMode', before, after);
  expect(await copy.node('crds/generate.ts')).toMatchObject({ code: 0, stderr: '' });
});
afterAll(() => copy.remove());

/** Writes one VirtualMCPServer per name with these members of `incomingAuth`. */
async function manifest(file: string, servers: Readonly<Record<string, string>>): Promise<string> {
  const path = join(copy.folder, file);
  const objects = Object.entries(servers).map(
    ([name, member]) => `apiVersion: vmcp.dev/v1alpha1
kind: VirtualMCPServer
metadata: { name: ${name} }
spec:
  groupRef: { name: tools }
  incomingAuth:
    type: password
    ${member}
---
`,
  );
  await writeFile(path, objects.join('') + REST);
  return path;
}

const REST = `apiVersion: vmcp.dev/v1alpha1
kind: MCPGroup
metadata: { name: tools }
spec: {}
---
apiVersion: v1
kind: Secret
metadata: { name: door }
stringData: { password: sesame }
`;

const GOOD = 'password: { userName: ann, passwordSecretRef: { name: door, key: password } }';

interface CrdSchema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly description?: string;
  readonly properties: Readonly<Record<string, CrdSchema>>;
  readonly 'x-kubernetes-validations'?: readonly unknown[];
}

describe('an incoming mode that one file and one registry entry add', () => {
  it('adds an enum value, a member and validation rules to the CRD', async () => {
    const crd = parse(await readFile(join(copy.folder, 'crds', 'virtualmcpservers.yaml'), 'utf8')) as {
      spec: { versions: [{ schema: { openAPIV3Schema: CrdSchema } }] };
    };
    const spec = crd.spec.versions[0].schema.openAPIV3Schema.properties['spec'];
    const incoming = spec?.properties['incomingAuth'];
    expect(incoming?.properties['type']?.enum).toContain('password');
    expect(incoming?.properties['password']?.properties).toMatchObject({
      userName: { type: 'string', maxLength: 64, description: 'User of every client.' },
      passwordSecretRef: { type: 'object' },
    });
    expect(incoming?.properties['password']?.['x-kubernetes-validations']).toEqual([
      { rule: "!self.userName.contains(':')", message: 'userName must not contain a colon', fieldPath: '.userName' },
    ]);
    expect(incoming?.['x-kubernetes-validations']).toContainEqual({
      rule: "(self.type == 'password') == has(self.password)",
      message: 'set password if and only if type is password',
      fieldPath: '.password',
    });
    expect(incoming?.['x-kubernetes-validations']).toContainEqual({
      rule: "self.type != 'password' || !has(self.oidcConfig)",
      message: 'when type is password, oidcConfig has no effect; remove it or set type to oidc',
      fieldPath: '.oidcConfig',
    });
  });

  it('adds rows to the reference documentation', async () => {
    const reference = await readFile(join(copy.folder, 'docs', 'reference', 'virtualmcpserver.md'), 'utf8');
    const rows = reference.split('\n').map((line) => line.replaceAll(/ {2,}/gu, ' '));
    expect(rows).toContain('| `spec.incomingAuth.password.userName` | string | yes | | User of every client. |');
    expect(rows).toContain('| `spec.incomingAuth.password` | userName must not contain a colon |');
    expect(reference).toContain('`password`: all clients send one password.');
  });

  it('is validated by its schema, its rules and its own resolve function', async () => {
    const file = await manifest('wrong.yaml', {
      'unknown-member': 'password: { userName: ann, user: b }',
      'broken-rule': 'password: { userName: "a:b" }',
      'missing-member': '',
      'own-problem': 'password: { userName: ann }',
      'missing-key': GOOD.replace('key: password', 'key: pin'),
      right: GOOD,
    });
    const { code, stdout, stderr } = await vmcp('validate', file);
    expect(code).toBe(2);
    const problems = `${stdout}${stderr}`
      .split('\n')
      .flatMap((line) => /wrong\.yaml:\d+: VirtualMCPServer\/(.+)$/u.exec(line)?.[1] ?? [])
      .filter((line) => !line.endsWith('(warning)'));
    expect(problems.toSorted()).toEqual([
      'broken-rule: spec.incomingAuth.password.userName: userName must not contain a colon [RuleViolated]',
      expect.stringMatching(
        /^missing-key: spec\.incomingAuth\.password\.passwordSecretRef\.key: .*"pin".*\[SecretKeyNotFound\]$/u,
      ),
      'missing-member: spec.incomingAuth.password: set password if and only if type is password [RuleViolated]',
      'own-problem: spec.incomingAuth.password.passwordSecretRef: set the password [PasswordMissing]',
      expect.stringMatching(/^unknown-member: spec\.incomingAuth\.password\.user: .*\[UnknownField\]$/u),
    ]);
  });

  it('is rendered with the path of its secret, and the gateway acts on the rendered configuration', async () => {
    const { code, stdout } = await vmcp('render', await manifest('right.yaml', { right: GOOD }));
    expect(code).toBe(0);
    expect(stdout).not.toContain('sesame');
    const config = JSON.parse(stdout) as GatewayConfig;
    const own = { user_name: 'ann', password_file: '$STATE/secrets/default/door/password' };
    expect(config.vmcp.incoming).toEqual({ type: 'password', config: own });
    const problem = (member: string, reason: string) => ({
      problems: [expect.objectContaining({ path: `vmcp.incoming.${member}`, reason })],
    });
    const read = [own, { ...own, user_name: 7 }, { ...own, password: 'sesame' }];
    expect(
      await asRead([...read.map((each) => withMode(config, { config: each })), withMode(config, { type: 'x' })]),
    ).toEqual([
      { sesame: 'ann', guess: 'signature' },
      problem('config.user_name', 'InvalidType'),
      problem('config.password', 'UnknownField'),
      problem('type', 'InvalidValue'),
    ]);
  });
});

const withMode = (config: GatewayConfig, incoming: object) => ({
  ...config,
  vmcp: { ...config.vmcp, incoming: { ...config.vmcp.incoming, ...incoming } },
});

/** Returns what the gateway of the copy makes of each configuration: problems, or the verdict on two passwords. */
async function asRead(configs: readonly object[]): Promise<unknown> {
  const script = `
    import { readGatewayConfig } from './gateway/read-gateway-config.ts';
    import { createValidator } from './gateway/incoming/index.ts';
    const verdict = (validator, token) => {
      try { return validator.validate(token).principal; } catch (error) { return error.reason; }
    };
    const act = (config) => {
      const validator = createValidator(config, { readSecret: () => 'sesame', now: Date.now });
      return { sesame: verdict(validator, 'sesame'), guess: verdict(validator, 'guess') };
    };
    const results = ${JSON.stringify(configs)}.map((config) => {
      const read = readGatewayConfig(JSON.stringify(config));
      return 'problems' in read ? read : act(read.config);
    });
    console.log(JSON.stringify(results));`;
  const { code, stdout, stderr } = await copy.node('--input-type=module', '--eval', script);
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
}
