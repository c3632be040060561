import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { copySources, type SourceCopy } from '../../e2e/harness/source-copy.ts';

let copy: SourceCopy;

/** Copies the sources and adds a config kind: two files, one line in each of two registries, and a field that refers to it. */
beforeAll(async () => {
  copy = await copySources(['crds', 'gateway', 'operator', 'charts']);
  await copy.register(
    'crds/kinds',
    'toy-config.ts',
    'ToyConfig',
    'export const KINDS = [',
    'export const KINDS = [ToyConfig, ',
  );
  await copy.register(
    'operator/status',
    'toy-config.ts',
    'toyConfigStatus',
    '  MCPGroup: mcpGroupStatus,',
    '  MCPGroup: mcpGroupStatus,\n  ToyConfig: toyConfigStatus,',
  );
  await copy.edit(
    'crds/kinds/mcp-server.ts',
    '      toolConfigRef:',
    "      toyConfigRef: nameRef('Shared toy.'),\n      toolConfigRef:",
  );
  expect(await copy.node('crds/generate.ts')).toMatchObject({ code: 0, stderr: '' });
});
afterAll(() => copy.remove());

/** Runs the body of an async function in the copy and returns its result. */
async function evaluate(imports: Readonly<Record<string, string>>, body: string): Promise<unknown> {
  const lines = Object.entries(imports).map(([path, names]) => `import { ${names} } from './${path}';`);
  const script = `${lines.join('\n')}\nconst result = await (async () => {${body}})();\nconsole.log(JSON.stringify(result));`;
  const { code, stdout, stderr } = await copy.node('--input-type=module', '--eval', script);
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
}

const OBJECTS = `
  const metadata = (name) => ({ name, namespace: 'team', uid: name, generation: 1 });
  const apiVersion = 'vmcp.dev/v1alpha1';
  const toy = { apiVersion, kind: 'ToyConfig', metadata: metadata('red'), spec: { colour: 'red' } };
  const server = { apiVersion, kind: 'MCPServer', metadata: metadata('files'), spec: { image: 'a', toyConfigRef: { name: 'red' } } };
  const refTo = ({ kind, metadata: { namespace, name } }) => ({ kind, namespace, name });`;

describe('a config kind of two files and a line in each of two registries', () => {
  it('has a CRD, a copy of it in the chart, and a reference page', async () => {
    const text = await readFile(join(copy.folder, 'crds', 'toyconfigs.yaml'), 'utf8');
    const crd = parse(text) as { metadata: { name: string }; spec: { names: object } };
    expect(crd.metadata.name).toBe('toyconfigs.vmcp.dev');
    expect(crd.spec.names).toMatchObject({ kind: 'ToyConfig', plural: 'toyconfigs', singular: 'toyconfig' });
    expect(await readFile(join(copy.folder, 'charts', 'vmcp-crds', 'files', 'toyconfigs.yaml'), 'utf8')).toBe(text);
    expect(await readFile(join(copy.folder, 'docs', 'reference', 'toyconfig.md'), 'utf8')).toContain('`spec.colour`');
    const kustomize = await readFile(join(copy.folder, 'charts/vmcp-crds/kustomize/kustomizeconfig.yaml'), 'utf8');
    const { nameReference } = parse(kustomize) as { nameReference: object[] };
    expect(nameReference).toContainEqual({
      ...{ kind: 'ToyConfig', group: 'vmcp.dev' },
      fieldSpecs: [{ path: 'spec/toyConfigRef/name', group: 'vmcp.dev', kind: 'MCPServer' }],
    });
  });

  it('is in the rules of the chart', async () => {
    const templates = await readFile(join(copy.folder, 'charts', 'vmcp', 'templates', '_kinds.tpl'), 'utf8');
    const listOf = (name: string) =>
      new RegExp(`define "vmcp\\.${name}" -\\}\\}\n\\[(.*)\\]`, 'u').exec(templates)?.[1]?.split(', ');
    expect(listOf('kinds')).toContain('toyconfigs');
    expect(listOf('kindStatuses')).toContain('toyconfigs/status');
    expect(listOf('protectedKinds')).toContain('toyconfigs');
    expect(listOf('ownerFinalizers')).toEqual(['virtualmcpservers/finalizers', 'mcpservers/finalizers']);
  });

  it('is in the snapshot, references to it are found, and an unused object is reported', async () => {
    const imports = {
      'operator/resolve/snapshot.ts': 'newSnapshot',
      'operator/resolve/references.ts': 'references, unusedObjects',
      'operator/source/kube/namespace-view.ts': 'NamespaceView',
      'operator/source/kube/watched-kinds.ts': 'OWN_TYPES',
    };
    const result = await evaluate(
      imports,
      `${OBJECTS}
      const view = new NamespaceView('team');
      view.put(toy);
      return {
        files: [...newSnapshot('team', { resources: [toy] }).toyConfigs.keys()],
        cluster: [...view.snapshot().toyConfigs.keys()],
        references: references(server),
        unused: unusedObjects(newSnapshot('team', { resources: [toy] })).map(({ kind, reason }) => [kind, reason]),
        watched: OWN_TYPES.find(({ kind }) => kind === 'ToyConfig'),
      };`,
    );
    expect(result).toEqual({
      files: ['red'],
      cluster: ['red'],
      references: [{ path: 'spec.toyConfigRef', target: 'ToyConfig', name: 'red', optional: false }],
      unused: [['ToyConfig', 'NotUsed']],
      watched: { group: 'vmcp.dev', version: 'v1alpha1', kind: 'ToyConfig', plural: 'toyconfigs' },
    });
  });

  it('is protected while an object refers to it, and both are reconciled when one changes', async () => {
    const imports = {
      'operator/controller/protection.ts': 'protectionOf',
      'operator/controller/affected.ts': 'affected',
    };
    const result = await evaluate(
      imports,
      `${OBJECTS}
      const lookups = { referrersOf: ({ kind }) => (kind === 'ToyConfig' ? [refTo(server)] : []), targetsOf: () => [], refsIn: () => [] };
      return {
        used: protectionOf(toy, [refTo(server)], true),
        unused: protectionOf(toy, [], true),
        affectedByToy: affected({ current: toy }, lookups).map(({ kind }) => kind),
        affectedByServer: affected({ current: server }, lookups).map(({ kind }) => kind),
      };`,
    );
    expect(result).toEqual({
      used: { finalizers: ['vmcp.dev/in-use'], blockedBy: [] },
      unused: { blockedBy: [] },
      affectedByToy: ['ToyConfig', 'MCPServer'],
      affectedByServer: ['MCPServer', 'ToyConfig'],
    });
  });

  it('has a controller that writes its status', async () => {
    const result = await evaluate(
      {
        'operator/controller/kinds.ts': 'CONTROLLERS',
        'operator/resolve/snapshot.ts': 'newSnapshot',
      },
      `${OBJECTS}
      const { decide } = CONTROLLERS.find(({ kind }) => kind === 'ToyConfig');
      const now = '2026-11-22T05:00:00Z';
      const snapshot = newSnapshot('team', { resources: [toy] });
      const decision = decide({ object: toy, snapshot, problems: [], referrers: [], blockedBy: [], render: {}, now });
      return decision.statusOf({ problems: [] }).status.conditions.map(({ type, status }) => [type, status]);`,
    );
    expect(result).toEqual([['Valid', 'True']]);
  });

  it('is validated, and a missing object is reported', async () => {
    const file = join(copy.folder, 'toys.yaml');
    const object = (kind: string, name: string, spec: string) =>
      `apiVersion: vmcp.dev/v1alpha1\nkind: ${kind}\nmetadata: { name: ${name} }\nspec: ${spec}\n---\n`;
    await writeFile(
      file,
      object('MCPGroup', 'tools', '{}') +
        object('VirtualMCPServer', 'front', '{ groupRef: { name: tools }, incomingAuth: { type: anonymous } }') +
        object('MCPServer', 'files', '{ image: "npx://a", groupRef: { name: tools }, toyConfigRef: { name: blue } }') +
        object('ToyConfig', 'wrong', '{ color: red }') +
        object('ToyConfig', 'idle', '{ colour: red }'),
    );
    const { stdout, stderr } = await copy.node('operator/cli/main.ts', 'validate', file);
    const reported = `${stdout}${stderr}`.split('\n').flatMap((line) => /toys\.yaml:\d+: (.+)$/u.exec(line)?.[1] ?? []);
    expect(reported).toEqual(
      expect.arrayContaining([
        expect.stringMatching(
          /^MCPServer\/files: spec\.toyConfigRef\.name: ToyConfig "blue" does not exist .*\[ToyConfigRefNotFound\]$/u,
        ),
        expect.stringMatching(/^ToyConfig\/wrong: spec\.color: .*\[UnknownField\]$/u),
      ]),
    );
  });
});
