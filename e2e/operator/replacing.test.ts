import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { KubeManifest } from '../harness/control-plane/api.ts';
import { entry, group, virtualServer } from '../harness/manifests.ts';
import { testScope } from '../harness/scope.ts';
import { runPods } from './kubelet.ts';
import { at, type Playground } from './playground.ts';
import { httpServer, REMOTE } from './resources.ts';
import { sharedOperator } from './shared.ts';

const { playground } = sharedOperator();
const ACCOUNT = [
  ['ServiceAccount', 'tools-vmcp'],
  ['Role', 'tools-vmcp'],
  ['RoleBinding', 'tools-vmcp'],
] as const;

/** Creates a VirtualMCPServer `tools` and waits for its Deployment. */
async function withTools(spec: Readonly<Record<string, unknown>> = {}): Promise<Playground> {
  const here = await playground();
  await here.create(group(), entry('remote', REMOTE), virtualServer({}, { name: 'tools', ...spec }));
  await here.appears('Deployment', 'vmcp-tools');
  return here;
}

const isServing = (workload: KubeManifest): boolean => (at(workload, 'status.availableReplicas') ?? 0) !== 0;

describe('the number of replicas', () => {
  it('stays unchanged when the resource stops setting it, and can then be set by an autoscaler', async () => {
    const here = await withTools({ replicas: 5 });
    const replicas = async () => at(await here.get('Deployment', 'vmcp-tools'), 'spec.replicas');
    const change = async (changed: string) => {
      await here.patch('VirtualMCPServer', 'tools', { spec: { config: { metadata: { changed } } } });
      await here.appears('ConfigMap', 'tools-vmcp-config', (each) => JSON.stringify(each['data']).includes(changed));
      await here.untilApplied('VirtualMCPServer', 'tools');
      await sleep(1_000);
    };
    await here.patch('VirtualMCPServer', 'tools', { spec: { replicas: null } });
    await here.untilApplied('VirtualMCPServer', 'tools');
    await sleep(1_000);
    expect(await replicas()).toBe(5);
    await change('once');
    expect(await replicas()).toBe(5);
    await here.patch('Deployment', 'vmcp-tools', { spec: { replicas: 7 } }, 'scale');
    await change('twice');
    expect(await replicas()).toBe(7);
    await here.patch('VirtualMCPServer', 'tools', { spec: { replicas: 2 } });
    await here.appears('Deployment', 'vmcp-tools', (each) => at(each, 'spec.replicas') === 2);
  });
});

describe('removes a key that another writer adds to a selector:', () => {
  it.each([
    ['the selector of the Service', 'Service', 'vmcp-tools', { spec: { selector: { app: 'other' } } }, 'spec.selector'],
    [
      'the pods of the NetworkPolicy',
      'NetworkPolicy',
      'vmcp-tools',
      { spec: { podSelector: { matchLabels: { app: 'other' } } } },
      'spec.podSelector',
    ],
    [
      'a narrower selector of the NetworkPolicy',
      'NetworkPolicy',
      'vmcp-tools',
      { spec: { podSelector: { matchExpressions: [{ key: 'app', operator: 'Exists' }] } } },
      'spec.podSelector',
    ],
  ])('%s', async (_, kind, name, patch, path) => {
    const here = await withTools();
    const before = at(await here.appears(kind, name), path);
    expect(at(await here.patch(kind, name, patch), path)).not.toEqual(before);
    await here.appears(kind, name, (live) => JSON.stringify(at(live, path)) === JSON.stringify(before));
  });
});

describe('deletes obsolete objects when the new pods serve:', () => {
  it('the rights of the old pods, which keep running while the new ones cannot start', async () => {
    const here = await withTools();
    runPods(testScope(), here);
    await here.appears('Deployment', 'vmcp-tools', isServing);
    await here.patch('VirtualMCPServer', 'tools', { spec: { serviceAccount: 'typo' } });
    await here.appears(
      'Deployment',
      'vmcp-tools',
      (each) => at(each, 'spec.template.spec.serviceAccountName') === 'typo',
    );
    await sleep(2_000);
    for (const [kind, name] of ACCOUNT) expect(await here.get(kind, name)).toBeDefined();
    await here.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'typo' } });
    for (const [kind, name] of ACCOUNT) await here.disappears(kind, name);
  });

  it('the Deployment of an MCPServer whose transport changes to stdio', async () => {
    const here = await playground();
    await here.create(group(), httpServer('web'));
    const pods = runPods(testScope(), here);
    await here.appears('Deployment', 'mcp-web', isServing);
    await pods.stop();
    await here.patch('MCPServer', 'web', { spec: { transport: 'stdio' } });
    await here.appears('StatefulSet', 'mcp-web');
    await sleep(2_000);
    expect(isServing((await here.get('Deployment', 'mcp-web')) as KubeManifest)).toBe(true);
    runPods(testScope(), here);
    await here.disappears('Deployment', 'mcp-web');
  });
});

it('reports a configuration that is too large for a ConfigMap, and keeps the running one', async () => {
  const here = await withTools();
  const before = await here.appears('ConfigMap', 'tools-vmcp-config');
  const metadata = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`k${String(i)}`, 'x'.repeat(30_000)]));
  await here.patch('VirtualMCPServer', 'tools', { spec: { config: { metadata } } });
  const condition = await here.becomes('VirtualMCPServer', 'tools', { type: 'Applied', status: 'False' });
  expect(condition).toMatchObject({ reason: 'ApplyTooLarge' });
  expect(condition.message).toContain('use fewer or smaller backends');
  expect((await here.get('ConfigMap', 'tools-vmcp-config'))?.metadata.uid).toBe(before.metadata.uid);
});
