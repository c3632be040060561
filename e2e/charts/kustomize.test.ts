import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { describe, expect, test } from 'vitest';
import { isOwnKind } from '../../crds/kinds/roles.ts';
import { references } from '../../operator/resolve/references.ts';
import type { Resource } from '../../operator/resolve/snapshot.ts';
import { run } from '../cluster/harness/command.ts';
import { clusterBinary } from '../harness/control-plane/binaries.ts';
import { testScope } from '../harness/scope.ts';
import { root, temporaryFolder, writeFiles } from '../harness/vmcp.ts';

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec?: unknown;
}

const kubectl = clusterBinary('kubectl') ?? 'kubectl';
const CONFIGURATION = join(root, 'charts', 'vmcp-crds', 'kustomize', 'kustomizeconfig.yaml');
const SAMPLES = join(root, 'crds', 'kinds', 'samples', 'valid');

/** Runs kustomize over manifests, with the configuration of the chart and these fields of a kustomization. */
async function kustomize(manifests: readonly object[], fields: object): Promise<Manifest[]> {
  const folder = await temporaryFolder(testScope());
  await writeFiles(folder, {
    'kustomizeconfig.yaml': readFileSync(CONFIGURATION, 'utf8'),
    'manifests.yaml': manifests.map((manifest) => stringify(manifest)).join('---\n'),
    'kustomization.yaml': stringify({
      configurations: ['kustomizeconfig.yaml'],
      resources: ['manifests.yaml'],
      ...fields,
    }),
  });
  const output = await run(kubectl, ['kustomize', folder]);
  return parseAllDocuments(output).map((document) => document.toJS() as Manifest);
}

const object = (kind: string, name: string, spec: object = {}): Manifest => ({
  apiVersion: isOwnKind(kind) ? 'vmcp.dev/v1alpha1' : 'v1',
  kind,
  metadata: { name },
  spec,
});
const referencesOf = (manifest: Manifest) => references(manifest as unknown as Resource);
const isData = (target: string): boolean => target === 'Secret' || target === 'ConfigMap';

/** Samples under different names, so that a single kustomization can hold all of them. */
const samples = readdirSync(SAMPLES).map((file): Manifest => {
  const sample = parse(readFileSync(join(SAMPLES, file), 'utf8')) as Manifest;
  return { ...sample, metadata: { name: `sample-${file.replace('.yaml', '')}` } };
});
const targets = [
  ...new Map(
    samples.flatMap(referencesOf).map(({ target, name }) => [`${target}/${name}`, { target, name }] as const),
  ).values(),
];

describe.skipIf(clusterBinary('kubectl') === undefined)('the configuration for kustomize', () => {
  test('renames every reference of every kind with its object', async () => {
    const generated = (kind: string) =>
      targets.filter(({ target }) => target === kind).map(({ name }) => ({ name, literals: ['key=value'] }));
    const stubs = targets.filter(({ target }) => !isData(target)).map(({ target, name }) => object(target, name));
    const output = await kustomize([...samples, ...stubs], {
      namePrefix: 'team-',
      nameSuffix: '-x',
      secretGenerator: generated('Secret'),
      configMapGenerator: generated('ConfigMap'),
    });
    const names = new Set(output.map(({ kind, metadata: { name } }) => `${kind}/${name}`));
    expect(names.size).toBe(samples.length + targets.length);
    const found = output.filter(({ kind }) => isOwnKind(kind)).flatMap(referencesOf);
    const dangling = found.filter(({ target, name }) => !names.has(`${target}/${name}`)).map(({ path }) => path);
    // Kustomize has no path to the values of a map.
    expect(dangling.filter((path) => !path.startsWith('spec.outgoingAuth.backends.'))).toEqual([]);
    expect(found.length - dangling.length).toBeGreaterThan(100);
  });

  test('renames objects in text fields, lists of backends and podTemplateSpec', async () => {
    const container = {
      name: 'vmcp',
      env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'keys', key: 'a' } } }],
      envFrom: [{ configMapRef: { name: 'rules' } }],
    };
    const storage = { type: 'kvstore', kvstore: { sentinelConfig: { sentinelService: { name: 'redis' } } } };
    const given = [
      object('MCPGroup', 'demo'),
      object('MCPServer', 'files', {
        serviceAccount: 'runner',
        permissionProfile: { type: 'configmap', name: 'rules' },
        resourceOverrides: { proxyDeployment: { imagePullSecrets: [{ name: 'keys' }] } },
      }),
      object('MCPServerEntry', 'remote'),
      object('ServiceAccount', 'runner'),
      object('Service', 'redis'),
      object('VirtualMCPServer', 'demo', {
        imagePullSecrets: [{ name: 'keys' }],
        serviceAccount: 'runner',
        authServerConfig: { storage },
        outgoingAuth: { backendList: [{ name: 'remote', type: 'discovered' }] },
        incomingAuth: { oidcConfig: { kubernetes: { serviceAccount: 'runner' } } },
        podTemplateSpec: { spec: { containers: [container], volumes: [{ secret: { secretName: 'keys' } }] } },
        config: {
          groupRef: 'demo',
          aggregation: {
            conflictResolutionConfig: { priorityOrder: ['remote', 'files', 'elsewhere'] },
            tools: [{ workload: 'files' }, { workload: 'remote' }],
          },
          operational: { listChanged: { disabledWorkloads: ['remote'] } },
        },
      }),
    ];
    const output = await kustomize(given, {
      namePrefix: 'team-',
      generatorOptions: { disableNameSuffixHash: true },
      secretGenerator: [{ name: 'keys', literals: ['a=b'] }],
      configMapGenerator: [{ name: 'rules', literals: ['a=b'] }],
    });
    const specOf = (kind: string) => output.find((each) => each.kind === kind)?.spec;
    const expected = (kind: string): unknown =>
      JSON.parse(
        JSON.stringify(given.find((each) => each.kind === kind)?.spec).replaceAll(
          /"(keys|rules|runner|redis|demo|files|remote)"/gu,
          '"team-$1"',
        ),
      );
    for (const kind of ['VirtualMCPServer', 'MCPServer']) expect(specOf(kind)).toEqual(expected(kind));
  });

  test('replaces images and numbers of pods', async () => {
    const given = [object('MCPServer', 'time', { image: 'mcp/time:1' }), object('VirtualMCPServer', 'demo')];
    const output = await kustomize(given, {
      images: [{ name: 'mcp/time', newName: 'registry.example.com/time', newTag: '2' }],
      replicas: [
        { name: 'demo', count: 2 },
        { name: 'time', count: 3 },
      ],
    });
    expect(output.map(({ spec }) => spec)).toEqual([
      { image: 'registry.example.com/time:2', replicas: 3 },
      { replicas: 2 },
    ]);
  });

  test('leaves objects of other API groups unchanged', async () => {
    const other = { ...object('MCPServer', 'time', { image: 'mcp/time:1' }), apiVersion: 'example.com/v1' };
    const [output] = await kustomize([other], { images: [{ name: 'mcp/time', newTag: '2' }] });
    expect(output?.spec).toEqual(other.spec);
  });
});
