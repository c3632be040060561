import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, inject, it } from 'vitest';
import type { KubeManifest } from '../harness/control-plane/api.ts';
import { entry, group, virtualServer } from '../harness/manifests.ts';
import { eventually } from '../harness/poll.ts';
import { testScope } from '../harness/scope.ts';
import { runPods } from './kubelet.ts';
import { at, conditionsOf, placeOf, type Playground } from './playground.ts';
import { httpServer, REMOTE } from './resources.ts';
import { kubectl, kubectlFile, sharedOperator } from './shared.ts';

const { playground, api } = sharedOperator();

/** Creates a VirtualMCPServer `tools` and waits for its Deployment. */
async function withTools(spec: Readonly<Record<string, unknown>> = {}): Promise<Playground> {
  const here = await playground();
  await here.create(group(), entry('remote', REMOTE), virtualServer({}, { name: 'tools', ...spec }));
  await here.appears('Deployment', 'vmcp-tools');
  return here;
}

const revisionOf = (deployment: KubeManifest | undefined): unknown =>
  deployment?.metadata.annotations?.['deployment.kubernetes.io/revision'];

describe('a manual edit of a field of the operator is reverted', () => {
  const edits: [what: string, kind: string, name: string, patch: unknown, path: string][] = [
    [
      'the image',
      'Deployment',
      'vmcp-tools',
      [{ op: 'replace', path: '/spec/template/spec/containers/0/image', value: 'evil:1' }],
      'spec.template.spec.containers.0.image',
    ],
    [
      'an argument',
      'Deployment',
      'vmcp-tools',
      [{ op: 'replace', path: '/spec/template/spec/containers/0/args', value: [] }],
      'spec.template.spec.containers.0.args',
    ],
    [
      'the port of the Service',
      'Service',
      'vmcp-tools',
      [{ op: 'replace', path: '/spec/ports/0/port', value: 80 }],
      'spec.ports.0.port',
    ],
    [
      'the selector of the Service',
      'Service',
      'vmcp-tools',
      [{ op: 'add', path: '/spec/selector/app.kubernetes.io~1instance', value: 'other' }],
      'spec.selector',
    ],
    ['the rights of the Role', 'Role', 'tools-vmcp', [{ op: 'replace', path: '/rules', value: [] }], 'rules'],
    [
      'the configuration',
      'ConfigMap',
      'tools-vmcp-config',
      [{ op: 'replace', path: '/data/config.json', value: '{}' }],
      'data',
    ],
    ['the backends', 'ConfigMap', 'tools-vmcp-backends', [{ op: 'remove', path: '/data/backends.json' }], 'data'],
    [
      'a label',
      'Service',
      'vmcp-tools',
      [{ op: 'replace', path: '/metadata/labels/app.kubernetes.io~1part-of', value: 'other' }],
      'metadata.labels',
    ],
    [
      'the subjects of the RoleBinding',
      'RoleBinding',
      'tools-vmcp',
      [{ op: 'replace', path: '/subjects/0/name', value: 'default' }],
      'subjects',
    ],
    [
      'the limit of the PodDisruptionBudget',
      'PodDisruptionBudget',
      'vmcp-tools',
      [{ op: 'replace', path: '/spec/maxUnavailable', value: 5 }],
      'spec.maxUnavailable',
    ],
    [
      'a PodDisruptionBudget of another sort',
      'PodDisruptionBudget',
      'vmcp-tools',
      [
        { op: 'remove', path: '/spec/maxUnavailable' },
        { op: 'add', path: '/spec/minAvailable', value: 1 },
      ],
      'spec',
    ],
    [
      'a probe of another sort',
      'Deployment',
      'vmcp-tools',
      [
        { op: 'remove', path: '/spec/template/spec/containers/0/livenessProbe/httpGet' },
        { op: 'add', path: '/spec/template/spec/containers/0/livenessProbe/tcpSocket', value: { port: 4483 } },
      ],
      'spec.template.spec.containers.0.livenessProbe',
    ],
    [
      'the source of a variable',
      'Deployment',
      'vmcp-tools',
      [
        { op: 'remove', path: '/spec/template/spec/containers/0/env/0/value' },
        {
          op: 'add',
          path: '/spec/template/spec/containers/0/env/0/valueFrom',
          value: { fieldRef: { fieldPath: 'metadata.name' } },
        },
      ],
      'spec.template.spec.containers.0.env.0',
    ],
    [
      'the NetworkPolicy',
      'NetworkPolicy',
      'vmcp-tools',
      [{ op: 'replace', path: '/spec/ingress', value: [] }],
      'spec.ingress',
    ],
  ];
  it.each(edits)('%s', async (_, kind, name, patch, path) => {
    const here = await withTools({ replicas: 2 });
    const before = at(await here.appears(kind, name), path);
    const edited = await api().patch(placeOf(kind, here.namespace, name), patch, { type: 'json' });
    expect(at(edited, path)).not.toEqual(before);
    await here.appears(kind, name, (live) => JSON.stringify(at(live, path)) === JSON.stringify(before));
  });

  it('the label that selects the objects of the operator', async () => {
    const here = await withTools();
    await here.patch('Service', 'vmcp-tools', { metadata: { labels: { 'app.kubernetes.io/managed-by': null } } });
    const isOurs = (service: KubeManifest) =>
      service.metadata.labels?.['app.kubernetes.io/managed-by'] === 'vmcp-operator';
    await here.appears('Service', 'vmcp-tools', isOurs);
  });

  it('at most once per second when another writer repeats the edit', async () => {
    const here = await withTools();
    const rival = { metadata: { labels: { 'app.kubernetes.io/part-of': 'rival' } } };
    const paced = async (): Promise<number> => {
      const text = await (await fetch(`${inject('operator').management}/metrics`)).text();
      return Number(/^workqueue_paced_total (\d+)/mu.exec(text)?.[1]);
    };
    const before = await paced();
    const start = performance.now();
    let end = Infinity;
    let reverts = -1;
    while (performance.now() < end) {
      const service = await here.get('Service', 'vmcp-tools');
      if (service?.metadata.labels?.['app.kubernetes.io/part-of'] === 'rival') continue;
      reverts += 1;
      await here.patch('Service', 'vmcp-tools', rival);
      // The number of reverts until the operator slows down depends on the machine: its budget grows by one run per second.
      if (end === Infinity && (await paced()) > before) end = performance.now() + 4_000;
    }
    expect(reverts).toBeLessThanOrEqual(20 + (performance.now() - start) / 1_000 + 1);
  });

  it.each(['Deployment', 'Service'])('recreates a deleted %s', async (kind) => {
    const here = await withTools();
    const { uid } = (await here.appears(kind, 'vmcp-tools')).metadata;
    await here.remove(kind, 'vmcp-tools');
    await here.appears(kind, 'vmcp-tools', ({ metadata }) => metadata.uid !== uid);
  });
});

describe.concurrent('edits of others are kept:', () => {
  it('annotations, labels and fields that the operator does not set', async () => {
    const here = await withTools();
    const foreign = { metadata: { annotations: { 'example.com/note': 'mine' }, labels: { team: 'a' } } };
    for (const kind of ['Deployment', 'Service']) await here.patch(kind, 'vmcp-tools', foreign);
    await here.patch('ConfigMap', 'tools-vmcp-config', { ...foreign, data: { 'other.txt': 'mine' } });
    await here.patch('Deployment', 'vmcp-tools', { spec: { progressDeadlineSeconds: 300, revisionHistoryLimit: 3 } });
    // This change makes the operator apply all of them again.
    await here.patch('VirtualMCPServer', 'tools', {
      spec: { sessionAffinity: 'None', replicas: 1, config: { metadata: { changed: 'yes' } } },
    });
    await here.appears('Service', 'vmcp-tools', (service) => at(service, 'spec.sessionAffinity') === 'None');
    const deployment = await here.appears('Deployment', 'vmcp-tools', (each) => at(each, 'spec.replicas') === 1);
    expect(deployment).toMatchObject({ ...foreign, spec: { progressDeadlineSeconds: 300, revisionHistoryLimit: 3 } });
    expect(await here.get('Service', 'vmcp-tools')).toMatchObject(foreign);
    expect(await here.get('ConfigMap', 'tools-vmcp-config')).toMatchObject({
      ...foreign,
      data: { 'other.txt': 'mine' },
    });
  });

  it('kubectl rollout restart', async () => {
    const here = await withTools();
    const pods = runPods(testScope(), here);
    const before = await here.appears('Deployment', 'vmcp-tools', (each) => revisionOf(each) === '1');
    const restarted = { 'kubectl.kubernetes.io/restartedAt': '2026-11-22T05:00:00Z' };
    await here.patch('Deployment', 'vmcp-tools', { spec: { template: { metadata: { annotations: restarted } } } });
    await here.appears('Deployment', 'vmcp-tools', (each) => revisionOf(each) === '2');
    await here.patch('VirtualMCPServer', 'tools', { spec: { sessionAffinity: 'None' } });
    await here.appears('Service', 'vmcp-tools', (service) => at(service, 'spec.sessionAffinity') === 'None');
    await sleep(1_000);
    const after = await here.get('Deployment', 'vmcp-tools');
    expect(at(after, 'spec.template.metadata.annotations')).toMatchObject(restarted);
    expect([revisionOf(before), revisionOf(after)]).toEqual(['1', '2']);
    await pods.stop();
  });

  it('the number of replicas of an autoscaler, when the resource sets none', async () => {
    const here = await withTools();
    const scale = async (replicas: number) => here.patch('Deployment', 'vmcp-tools', { spec: { replicas } }, 'scale');
    await scale(4);
    await here.patch('VirtualMCPServer', 'tools', { spec: { config: { metadata: { changed: 'yes' } } } });
    await here.untilApplied('VirtualMCPServer', 'tools');
    expect((await here.get('Deployment', 'vmcp-tools'))?.metadata.generation).toBeGreaterThan(2);
    expect(at(await here.get('Deployment', 'vmcp-tools'), 'spec.replicas')).toBe(4);
    await here.patch('VirtualMCPServer', 'tools', { spec: { replicas: 2 } });
    await here.appears('Deployment', 'vmcp-tools', (each) => at(each, 'spec.replicas') === 2);
    await scale(5);
    await here.appears('Deployment', 'vmcp-tools', (each) => at(each, 'spec.replicas') === 2);
    await here.patch('VirtualMCPServer', 'tools', { spec: { replicas: null } });
    await here.untilApplied('VirtualMCPServer', 'tools');
    await scale(3);
    await here.patch('VirtualMCPServer', 'tools', { spec: { config: { metadata: { changed: 'again' } } } });
    await here.untilApplied('VirtualMCPServer', 'tools');
    await sleep(500);
    expect(at(await here.get('Deployment', 'vmcp-tools'), 'spec.replicas')).toBe(3);
    await here.patch('VirtualMCPServer', 'tools', { spec: { replicas: 0 } });
    await here.appears('Deployment', 'vmcp-tools', (each) => at(each, 'spec.replicas') === 0);
    await here.patch('VirtualMCPServer', 'tools', { spec: { replicas: null } });
    await here.appears('Deployment', 'vmcp-tools', (each) => at(each, 'spec.replicas') === 1);
  });
});

describe.concurrent('an object of another owner with the name of ours', () => {
  const foreign: [kind: string, name: string, members: Record<string, unknown>][] = [
    ['Service', 'vmcp-tools', { spec: { ports: [{ port: 80 }], selector: { app: 'other' } } }],
    ['ConfigMap', 'tools-vmcp-config', { data: { 'config.json': 'mine' } }],
    ['Role', 'tools-vmcp', { rules: [] }],
    [
      'Deployment',
      'vmcp-tools',
      {
        spec: {
          replicas: 0,
          selector: { matchLabels: { app: 'other' } },
          template: {
            metadata: { labels: { app: 'other' } },
            spec: { containers: [{ name: 'other', image: 'other:1' }] },
          },
        },
      },
    ],
  ];
  it.each(foreign)('keeps a %s %s, and reports it until it is deleted', async (kind, name, members) => {
    const here = await playground();
    const { apiVersion } = placeOf(kind);
    const made = await api().create({ apiVersion, kind, metadata: { name, namespace: here.namespace }, ...members });
    await here.create(group(), entry('remote', REMOTE), virtualServer({}, { name: 'tools' }));
    const condition = await eventually('the server reports NameTaken', async () =>
      conditionsOf(await here.get('VirtualMCPServer', 'tools')).find(
        ({ reason, message, status }) => status === 'False' && /NameTaken/u.test(`${reason} ${message}`),
      ),
    );
    expect(condition.message).toContain(name);
    const after = await here.get(kind, name);
    expect(after?.metadata.ownerReferences).toBeUndefined();
    expect(after?.metadata.labels).toEqual(made.metadata.labels);
    const ours = Object.keys(members)[0] ?? '';
    expect(after?.[ours]).toEqual(made[ours]);
    await here.remove(kind, name);
    await here.appears(kind, name, ({ metadata }) => metadata.ownerReferences?.[0]?.name === 'tools');
    await eventually('the name is free', async () =>
      conditionsOf(await here.get('VirtualMCPServer', 'tools')).every(
        ({ reason, message }) => !/NameTaken/u.test(`${reason} ${message}`),
      ),
    );
  });
});

describe.concurrent('deletes objects that are not desired any more:', () => {
  it('the PodDisruptionBudget of a server with one replica', async () => {
    const here = await withTools({ replicas: 2 });
    await here.appears('PodDisruptionBudget', 'vmcp-tools');
    await here.patch('VirtualMCPServer', 'tools', { spec: { replicas: 1 } });
    await here.disappears('PodDisruptionBudget', 'vmcp-tools');
  });

  it('all objects of a deleted server; a new server of the same name gets new ones', async () => {
    const here = await withTools();
    const { uid } = (await here.appears('Deployment', 'vmcp-tools')).metadata;
    await here.remove('VirtualMCPServer', 'tools');
    await here.create(virtualServer({}, { name: 'tools' }));
    const owner = await here.appears('VirtualMCPServer', 'tools');
    for (const [kind, name] of [
      ['Deployment', 'vmcp-tools'],
      ['Service', 'vmcp-tools'],
      ['ConfigMap', 'tools-vmcp-config'],
      ['ServiceAccount', 'tools-vmcp'],
    ] as const)
      await here.appears(
        kind,
        name,
        ({ metadata }) =>
          metadata.ownerReferences?.[0]?.uid === owner.metadata.uid && metadata.deletionTimestamp === undefined,
      );
    expect((await here.get('Deployment', 'vmcp-tools'))?.metadata.uid).not.toBe(uid);
    await here.remove('VirtualMCPServer', 'tools');
    for (const kind of ['Deployment', 'Service']) await here.disappears(kind, 'vmcp-tools');
    for (const kind of ['ConfigMap', 'Role', 'RoleBinding'])
      await eventually(`no ${kind} is left`, async () =>
        (await here.list(kind)).every(({ metadata }) => !metadata.name.startsWith('tools-')),
      );
  });
});

describe.concurrent('podTemplateSpec', () => {
  const patchOf = (spec: unknown) => ({ spec: { podTemplateSpec: { spec } } });
  const template = (object: KubeManifest | undefined) => at(object, 'spec.template.spec') as Record<string, unknown>;

  it('adds a sidecar, a node selector, environment, resources and tolerations', async () => {
    const here = await withTools();
    const restricted = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };
    await here.patch(
      'VirtualMCPServer',
      'tools',
      patchOf({
        nodeSelector: { disk: 'ssd' },
        tolerations: [{ key: 'gpu', operator: 'Exists', effect: 'NoSchedule' }],
        containers: [
          { name: 'vmcp', env: [{ name: 'EXTRA', value: '1' }], resources: { limits: { memory: '1Gi' } } },
          { name: 'proxy', image: 'registry.example.com/proxy:1', securityContext: restricted },
        ],
      }),
    );
    const live = await here.appears(
      'Deployment',
      'vmcp-tools',
      (each) => at(each, 'spec.template.spec.nodeSelector') !== undefined,
    );
    const containers = template(live)['containers'] as { name: string; env?: { name: string }[]; resources: unknown }[];
    expect(containers.map(({ name }) => name).toSorted()).toEqual(['proxy', 'vmcp']);
    const vmcp = containers.find(({ name }) => name === 'vmcp');
    expect(vmcp?.env?.map(({ name }) => name)).toEqual(expect.arrayContaining(['EXTRA', 'VMCP_NAME']));
    expect(vmcp?.resources).toMatchObject({ limits: { memory: '1Gi' }, requests: { cpu: '100m' } });
    expect(template(live)).toMatchObject({ nodeSelector: { disk: 'ssd' }, tolerations: [{ key: 'gpu' }] });
    // And revert it.
    await here.patch('VirtualMCPServer', 'tools', { spec: { podTemplateSpec: null } });
    const back = await here.appears(
      'Deployment',
      'vmcp-tools',
      (each) => at(each, 'spec.template.spec.nodeSelector') === undefined,
    );
    expect((template(back)['containers'] as unknown[]).length).toBe(1);
    expect(template(back)['tolerations']).toBeUndefined();
  });

  it.skipIf(kubectlFile === undefined)('removes the fsGroup after a kubectl apply that removes it', async () => {
    const here = await playground();
    const apply = async (name: string, securityContext: object, ...options: readonly string[]): Promise<void> => {
      const input = JSON.stringify(virtualServer({}, { name, podTemplateSpec: { spec: { securityContext } } }));
      await kubectl(here, ['apply', ...options, '-f', '-'], { input });
    };
    const showsGroup = async (name: string, fsGroup: number | undefined): Promise<void> => {
      const path = 'spec.template.spec.securityContext.fsGroup';
      await here.appears('Deployment', `vmcp-${name}`, (each) => at(each, path) === fsGroup);
    };
    await here.create(group(), entry('remote', REMOTE));
    await apply('tools', { fsGroup: 2000 });
    await showsGroup('tools', 2000);
    // kubectl apply drops null unless the server applies.
    await apply('tools', { $retainKeys: ['runAsNonRoot', 'seccompProfile'] });
    await showsGroup('tools', undefined);
    await apply('more', {}, '--server-side');
    await showsGroup('more', 65_532);
    await apply('more', { fsGroup: null }, '--server-side');
    await showsGroup('more', undefined);
  });

  it.each([
    ['a container without a name', { containers: [{ image: 'x' }] }],
    ['text for a list', { containers: 'none' }],
    [
      'a request above the limit',
      { containers: [{ name: 'vmcp', resources: { requests: { memory: '2Gi' }, limits: { memory: '1Gi' } } }] },
    ],
  ])('reports %s, and keeps the pods', async (_, wrong) => {
    const here = await withTools();
    const before = await here.appears('Deployment', 'vmcp-tools');
    await here.patch('VirtualMCPServer', 'tools', patchOf(wrong));
    const condition = await here.becomes('VirtualMCPServer', 'tools', {
      type: 'PodTemplateSpecValid',
      status: 'False',
      reason: 'InvalidPodTemplateSpec',
    });
    expect(condition.message).toContain('podTemplateSpec');
    expect((await here.get('Deployment', 'vmcp-tools'))?.['spec']).toEqual(before['spec']);
    await here.patch('VirtualMCPServer', 'tools', { spec: { podTemplateSpec: null } });
    await here.appears('VirtualMCPServer', 'tools', (vmcp) =>
      conditionsOf(vmcp).every(({ type, status }) => type !== 'PodTemplateSpecValid' || status === 'True'),
    );
  });

  it('quotes the error of the API server for a template that only it can reject, and keeps the pods', async () => {
    const here = await withTools();
    const before = await here.appears('Deployment', 'vmcp-tools');
    await here.patch('VirtualMCPServer', 'tools', patchOf({ hostname: 'Not_A_Label' }));
    const condition = await here.becomes('VirtualMCPServer', 'tools', {
      type: 'PodTemplateSpecValid',
      status: 'False',
    });
    expect(condition.message).toMatch(/spec\.podTemplateSpec.*hostname.*Not_A_Label/u);
    expect((await here.get('Deployment', 'vmcp-tools'))?.['spec']).toEqual(before['spec']);
    await here.patch('VirtualMCPServer', 'tools', patchOf({ hostname: null }));
    await here.becomes('VirtualMCPServer', 'tools', { type: 'PodTemplateSpecValid', status: 'True' });
  });

  it('is not reported for a mistake in the rest of the spec', async () => {
    const here = await playground();
    const volumes = [{ name: 'data', hostPath: '/srv/../data', mountPath: '/data' }];
    await here.create(
      httpServer('web', { volumes, podTemplateSpec: { spec: { securityContext: { runAsUser: 1000 } } } }),
    );
    const applied = { type: 'Applied', status: 'False', reason: 'ApplyInvalid' };
    expect((await here.becomes('MCPServer', 'web', applied)).message).toContain('hostPath');
    await here.becomes('MCPServer', 'web', { type: 'PodTemplateValid', status: 'True' });
  });
});

it('restarts the pods of an MCPServer when its restart annotation changes', async () => {
  const here = await playground();
  await here.create(group(), httpServer('web'));
  await here.appears('Deployment', 'mcp-web', (each) => revisionOf(each) === '1');
  const now = new Date().toISOString();
  await here.patch('MCPServer', 'web', { metadata: { annotations: { 'mcpserver.vmcp.dev/restarted-at': now } } });
  await here.appears('Deployment', 'mcp-web', (each) => revisionOf(each) === '2');
});
