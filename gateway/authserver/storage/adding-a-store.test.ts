import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { GatewayConfig } from '../../contract/gateway-config.ts';
import { copySources, type SourceCopy } from '../../../e2e/harness/source-copy.ts';

let copy: SourceCopy;

const vmcp = (...args: string[]) => copy.node('operator/cli/main.ts', ...args);

/** Copies the sources and adds a store to the copy: one file, and its line in the registry. */
beforeAll(async () => {
  copy = await copySources(['crds', 'gateway', 'operator']);
  const [before, after] = ['export const STORES = [memory, ', 'export const STORES = [memory, toyStore, '];
  await copy.register('gateway/authserver/storage', 'toy-store.ts', 'toyStore', before, after);
  expect(await copy.node('crds/generate.ts')).toMatchObject({ code: 0, stderr: '' });
});
afterAll(() => copy.remove());

/** One VirtualMCPServer with an authorization server for each of these names and `storage` blocks. */
async function manifest(name: string, servers: Readonly<Record<string, string>>): Promise<string> {
  const file = join(copy.folder, name);
  const objects = Object.entries(servers).map(
    ([server, storage], index) => `apiVersion: vmcp.dev/v1alpha1
kind: VirtualMCPServer
metadata: { name: ${server} }
spec:
  groupRef: { name: tools }
  incomingAuth:
    type: oidc
    oidcConfig:
      type: inline
      inline:
        issuer: http://127.0.0.1:${String(4483 + index)}
        audience: http://127.0.0.1:${String(4483 + index)}/mcp
  authServerConfig:
    issuer: http://127.0.0.1:${String(4483 + index)}
    upstreamProviders:
      - name: corp
        type: oidc
        oidcConfig: { issuerUrl: 'https://login.example', clientId: vmcp }
    storage: ${storage}
---
`,
  );
  await writeFile(file, objects.join('') + OTHERS);
  return file;
}

const OTHERS = `apiVersion: vmcp.dev/v1alpha1
kind: MCPGroup
metadata: { name: tools }
spec: {}
---
apiVersion: v1
kind: Secret
metadata: { name: disk }
stringData: { passphrase: sesame }
`;

const GOOD = '{ type: toyFolder, toyFolder: { folder: /data, passphraseSecretRef: { name: disk, key: passphrase } } }';

interface CrdSchema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly description?: string;
  readonly properties: Readonly<Record<string, CrdSchema>>;
  readonly 'x-kubernetes-validations'?: readonly unknown[];
}

describe('a store of one file and one line in the registry', () => {
  it('is a value of the enum, a member and rules in the CRD', async () => {
    const crd = parse(await readFile(join(copy.folder, 'crds', 'virtualmcpservers.yaml'), 'utf8')) as {
      spec: { versions: [{ schema: { openAPIV3Schema: CrdSchema } }] };
    };
    const { spec } = crd.spec.versions[0].schema.openAPIV3Schema.properties;
    const storage = spec?.properties['authServerConfig']?.properties['storage'];
    expect(storage?.properties['type']?.enum).toEqual(['memory', 'toyFolder', 'toyDisk', 'kvstore', 'redis']);
    expect(storage?.properties['toyFolder']?.properties).toMatchObject({
      folder: { type: 'string', maxLength: 64, description: 'Path of the folder.' },
      passphraseSecretRef: { type: 'object' },
    });
    expect(storage?.properties['toyFolder']?.['x-kubernetes-validations']).toEqual([
      {
        rule: "!self.folder.contains(':')",
        message: 'folder must not contain a colon',
        fieldPath: '.folder',
      },
    ]);
    expect(storage?.['x-kubernetes-validations']).toContainEqual({
      rule: "(self.type in ['toyFolder', 'toyDisk']) == has(self.toyFolder)",
      message: 'set toyFolder if and only if type is toyFolder',
      fieldPath: '.toyFolder',
    });
  });

  it('has rows in the reference', async () => {
    const reference = await readFile(join(copy.folder, 'docs', 'reference', 'virtualmcpserver.md'), 'utf8');
    const rows = reference.split('\n').map((line) => line.replaceAll(/ {2,}/gu, ' '));
    const path = 'spec.authServerConfig.storage.toyFolder';
    expect(rows).toContain(`| \`${path}.folder\` | string | yes | | Path of the folder. |`);
    expect(rows).toContain(`| \`${path}\` | folder must not contain a colon |`);
    expect(reference).toContain('`toyFolder`: A folder. `toyDisk` is an alias of `toyFolder`.');
  });

  it('is validated by its schema, its rules and its own checks, and its Secrets must exist', async () => {
    const file = await manifest('wrong.yaml', {
      'unknown-member': '{ type: toyFolder, toyFolder: { folder: /data, disk: b } }',
      'broken-rule': "{ type: toyFolder, toyFolder: { folder: 'c:' } }",
      'missing-member': '{ type: toyFolder }',
      'own-problem': '{ type: toyFolder, toyFolder: { folder: /data } }',
      'own-check': GOOD.replace('/data', '/proc'),
      'missing-key': GOOD.replace('key: passphrase', 'key: pin'),
      'by-alias': GOOD.replace('type: toyFolder', 'type: toyDisk'),
      right: GOOD,
    });
    const { code, stdout, stderr } = await vmcp('validate', file);
    expect(code).toBe(2);
    const problems = `${stdout}${stderr}`
      .split('\n')
      .flatMap((line) => /wrong\.yaml:\d+: VirtualMCPServer\/(.+\])$/u.exec(line)?.[1] ?? []);
    const path = 'spec.authServerConfig.storage.toyFolder';
    expect(problems.toSorted()).toEqual([
      `broken-rule: ${path}.folder: folder must not contain a colon [RuleViolated]`,
      expect.stringMatching(/^missing-key: .*\.passphraseSecretRef\.key: .*"pin".*\[SecretKeyNotFound\]$/u),
      `missing-member: ${path}: set toyFolder if and only if type is toyFolder [RuleViolated]`,
      `own-check: ${path}.folder: use another folder [InvalidValue]`,
      `own-problem: ${path}.passphraseSecretRef: set the passphrase [PassphraseMissing]`,
      expect.stringMatching(/^unknown-member: .*\.toyFolder\.disk: .*\[UnknownField\]$/u),
    ]);
  });

  it('is rendered with the path of its secret, and the gateway acts on the rendered configuration', async () => {
    const { code, stdout } = await vmcp('render', await manifest('right.yaml', { right: GOOD }));
    expect(code).toBe(0);
    expect(stdout).not.toContain('sesame');
    const config = JSON.parse(stdout) as GatewayConfig;
    const block = { folder: '/data/default/right', passphrase_file: '$STATE/secrets/default/disk/passphrase' };
    expect(config.embedded_auth_server_config?.storage).toEqual({ type: 'toyFolder', toyFolder_config: block });
    const blocks = [block, { ...block, folder: 7 }, { ...block, folder: '/proc' }, { ...block, passphrase: 'sesame' }];
    const problem = (member: string, reason: string) => ({
      problems: [
        expect.objectContaining({ path: `embedded_auth_server_config.storage.toyFolder_config.${member}`, reason }),
      ],
    });
    expect(await asRead(blocks.map((each) => withBlock(config, each)))).toEqual([
      { logged: ['opened /data/default/right with $STATE/secrets/default/disk/passphrase'], users: 1 },
      problem('folder', 'InvalidType'),
      problem('folder', 'InvalidValue'),
      problem('passphrase', 'UnknownField'),
    ]);
  });
});

const withBlock = (config: GatewayConfig, block: object) => ({
  ...config,
  embedded_auth_server_config: {
    ...config.embedded_auth_server_config,
    storage: { type: 'toyFolder', toyFolder_config: block },
  },
});

/** Reads each configuration with the gateway of the copy: the problems, or the log and the records of its store. */
async function asRead(configs: readonly object[]): Promise<unknown> {
  const script = `
    import { readGatewayConfig } from './gateway/read-gateway-config.ts';
    import { createStore } from './gateway/authserver/storage/index.ts';
    const act = async ({ embedded_auth_server_config: { storage } }) => {
      const logged = [];
      const log = { info: (message) => logged.push(message), warn: (message) => logged.push(message) };
      const store = await createStore(storage, { now: Date.now, log, env: () => undefined, secrets: () => [], keyPrefix: 'a:' });
      const ann = { id: 'ann', provider: 'corp', subject: '1', createdAt: 0 };
      await store.users.resolve(ann);
      return { logged, users: (await store.users.get('ann')) === undefined ? 0 : 1 };
    };
    const results = await Promise.all(${JSON.stringify(configs)}.map((config) => {
      const read = readGatewayConfig(JSON.stringify(config));
      return 'problems' in read ? read : act(read.config);
    }));
    console.log(JSON.stringify(results));`;
  const { code, stdout, stderr } = await copy.node('--input-type=module', '--eval', script);
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
}
