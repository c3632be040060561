import { describe, expect, inject, it } from 'vitest';
import { checkGatewayConfig, withDiscoveredBackends } from '../../gateway/read-gateway-config.ts';
import type { KubeManifest } from '../harness/control-plane/api.ts';
import { entry, group, virtualServer } from '../harness/manifests.ts';
import { testScope } from '../harness/scope.ts';
import { runPods } from './kubelet.ts';
import { at, conditionsOf, type Playground } from './playground.ts';
import { CANARY, everySort, httpServer, REMOTE, stdioServer } from './resources.ts';
import { sharedOperator } from './shared.ts';

const { playground } = sharedOperator();

const OWNED_KINDS = [
  'ConfigMap',
  'Deployment',
  'NetworkPolicy',
  'PodDisruptionBudget',
  'Role',
  'RoleBinding',
  'Service',
  'ServiceAccount',
  'StatefulSet',
];

/** Lists `Kind/name` of the objects in the namespace that this object controls. */
async function ownedBy(here: Playground, kind: string, name: string): Promise<string[]> {
  const owner = await here.get(kind, name);
  const lists = await Promise.all(OWNED_KINDS.map((each) => here.list(each)));
  return lists
    .flat()
    .filter(({ metadata }) =>
      metadata.ownerReferences?.some(
        (reference) => reference.uid === owner?.metadata.uid && reference.kind === kind && reference.controller,
      ),
    )
    .map((object) => `${object.kind}/${object.metadata.name}`)
    .toSorted();
}

const document = (configMap: KubeManifest, key: string): string =>
  (configMap['data'] as Record<string, string>)[key] ?? '';

describe('the objects of a VirtualMCPServer', () => {
  it('all exist, with the server as their controller and with labels', async () => {
    const here = await playground();
    await here.create(group(), entry('remote', REMOTE), virtualServer({}, { name: 'tools', replicas: 2 }));
    await here.appears('Deployment', 'vmcp-tools');
    await expect
      .poll(() => ownedBy(here, 'VirtualMCPServer', 'tools'))
      .toEqual([
        'ConfigMap/tools-vmcp-backends',
        'ConfigMap/tools-vmcp-config',
        'Deployment/vmcp-tools',
        'NetworkPolicy/vmcp-tools',
        'PodDisruptionBudget/vmcp-tools',
        'Role/tools-vmcp',
        'RoleBinding/tools-vmcp',
        'Service/vmcp-tools',
        'ServiceAccount/tools-vmcp',
      ]);
    for (const kind of OWNED_KINDS)
      for (const { metadata } of await here.list(kind))
        if (metadata.ownerReferences?.[0]?.name === 'tools')
          expect(metadata.labels).toMatchObject({
            'app.kubernetes.io/managed-by': 'vmcp-operator',
            'app.kubernetes.io/instance': 'tools',
            'app.kubernetes.io/name': 'virtualmcpserver',
          });
  });

  it('contain a valid configuration of a gateway', async () => {
    const here = await playground();
    await here.create(...everySort());
    await here.appears('Deployment', 'vmcp-all');
    const config = await here.appears('ConfigMap', 'all-vmcp-config');
    const backends = await here.appears('ConfigMap', 'all-vmcp-backends', (map) =>
      ['"local"', '"remote"', '"web"'].every((name) => document(map, 'backends.json').includes(name)),
    );
    const start = checkGatewayConfig(JSON.parse(document(config, 'config.json')));
    expect(start).toMatchObject({
      config: { name: 'all', vmcp: { backends: [], cluster: { virtual_mcp_server: 'all' } } },
    });
    if ('problems' in start) throw new Error('unreachable');
    const whole = withDiscoveredBackends(start.config, document(backends, 'backends.json'));
    expect(whole).toMatchObject({
      config: {
        vmcp: {
          backends: [
            { name: 'local', url: `http://mcp-local.${here.namespace}.svc.cluster.local:8080/mcp` },
            { name: 'remote', url: REMOTE },
            { name: 'web', url: `http://mcp-web.${here.namespace}.svc.cluster.local:8080/mcp` },
          ],
        },
      },
    });
  });

  it('have pods that Pod Security `restricted` admits, and make the server ready', async () => {
    const here = await playground();
    await here.create(...everySort());
    await here.becomes('VirtualMCPServer', 'all', { type: 'Ready', status: 'False', reason: 'DeploymentNotReady' });
    runPods(testScope(), here);
    await here.becomes('VirtualMCPServer', 'all', { type: 'Ready', status: 'True', reason: 'DeploymentReady' });
    for (const name of ['web', 'local']) await here.becomes('MCPServer', name, { type: 'Ready', status: 'True' });
    expect(at(await here.get('VirtualMCPServer', 'all'), 'status')).toMatchObject({
      phase: 'Ready',
      url: `http://vmcp-all.${here.namespace}.svc.cluster.local:4483/mcp`,
    });
  });

  it('include no ServiceAccount, Role and RoleBinding when the user names an account', async () => {
    const here = await playground();
    const mine = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'mine' } };
    await here.create(group(), mine, virtualServer({}, { name: 'tools' }));
    runPods(testScope(), here);
    await here.appears('Role', 'tools-vmcp');
    await here.patch('VirtualMCPServer', 'tools', { spec: { serviceAccount: 'mine' } });
    for (const kind of ['ServiceAccount', 'Role', 'RoleBinding']) await here.disappears(kind, 'tools-vmcp');
    await here.appears(
      'Deployment',
      'vmcp-tools',
      (deployment) => at(deployment, 'spec.template.spec.serviceAccountName') === 'mine',
    );
  });

  it('follow the members of the group without a rollout', async () => {
    const here = await playground();
    await here.create(group(), entry('one', REMOTE), virtualServer({}, { name: 'tools' }));
    const before = await here.appears('Deployment', 'vmcp-tools');
    const config = await here.appears('ConfigMap', 'tools-vmcp-config');
    await here.create(entry('two', REMOTE), httpServer('three'));
    await here.appears('ConfigMap', 'tools-vmcp-backends', (map) =>
      ['"one"', '"two"', '"three"'].every((name) => document(map, 'backends.json').includes(name)),
    );
    await here.remove('MCPServerEntry', 'one');
    await here.appears('ConfigMap', 'tools-vmcp-backends', (map) => !document(map, 'backends.json').includes('"one"'));
    const after = await here.appears('Deployment', 'vmcp-tools');
    expect(after['spec']).toEqual(before['spec']);
    expect((await here.get('ConfigMap', 'tools-vmcp-config'))?.metadata.resourceVersion).toBe(
      config.metadata.resourceVersion,
    );
  });
});

describe('the objects of an MCPServer', () => {
  it('exist for a server that listens', async () => {
    const here = await playground();
    await here.create(group(), httpServer('web', { mcpPort: 3000, proxyPort: 80 }));
    const deployment = await here.appears('Deployment', 'mcp-web');
    await expect
      .poll(() => ownedBy(here, 'MCPServer', 'web'))
      .toEqual([
        'ConfigMap/mcp-web-runconfig',
        'Deployment/mcp-web',
        'NetworkPolicy/mcp-web',
        'Service/mcp-web',
        'ServiceAccount/web-mcp',
      ]);
    expect(at(deployment, 'spec.template.spec.containers.0')).toMatchObject({
      name: 'mcp',
      image: 'registry.example.com/web:1',
      ports: [{ containerPort: 3000 }],
    });
    const url = `http://mcp-web.${here.namespace}.svc.cluster.local:80/mcp`;
    await here.appears('MCPServer', 'web', (server) => at(server, 'status.url') === url);
    await here.patch('MCPServer', 'web', { spec: { proxyPort: 8081 } });
    await here.appears('MCPServer', 'web', (server) => String(at(server, 'status.url')).includes(':8081/'));
    await here.appears('Service', 'mcp-web', (service) => at(service, 'spec.ports.0.port') === 8081);
  });

  it('exist for a stdio server: one pod, which its gateway may attach to', async () => {
    const here = await playground();
    await here.create(group(), stdioServer('local', { replicas: 3 }));
    const set = await here.appears('StatefulSet', 'mcp-local');
    expect(at(set, 'spec.replicas')).toBe(1);
    const some = ['Role/local-mcp', 'RoleBinding/local-mcp', 'Service/mcp-local', 'StatefulSet/mcp-local'];
    await expect.poll(() => ownedBy(here, 'MCPServer', 'local')).toEqual(expect.arrayContaining(some));
    const role = await here.get('Role', 'local-mcp');
    for (const rule of role!['rules'] as { resourceNames?: string[] }[])
      expect(rule.resourceNames).toEqual(['mcp-local-0']);
    await here.becomes('MCPServer', 'local', {
      type: 'StdioReplicaCapped',
      status: 'True',
      reason: 'StdioTransportCapAt1',
    });
    await here.patch('MCPServer', 'local', { spec: { replicas: 1 } });
    await here.becomes('MCPServer', 'local', { type: 'StdioReplicaCapped', status: 'False' });
  });

  it('change with the transport, and the old workload is deleted', async () => {
    const here = await playground();
    await here.create(group(), httpServer('web'));
    runPods(testScope(), here);
    await here.appears('Deployment', 'mcp-web');
    await here.patch('MCPServer', 'web', { spec: { transport: 'stdio' } });
    await here.appears('StatefulSet', 'mcp-web');
    await here.disappears('Deployment', 'mcp-web');
    await here.patch('MCPServer', 'web', { spec: { transport: 'sse' } });
    await here.appears('Deployment', 'mcp-web');
    await here.disappears('StatefulSet', 'mcp-web');
    await here.appears('MCPServer', 'web', (server) => String(at(server, 'status.url')).endsWith('/sse'));
  });
});

it('a VirtualMCPServer and an MCPServer can have the same name', async () => {
  const here = await playground();
  await here.create(group(), httpServer('same'), virtualServer({}, { name: 'same' }));
  runPods(testScope(), here);
  await here.becomes('VirtualMCPServer', 'same', { type: 'Ready', status: 'True' });
  await here.becomes('MCPServer', 'same', { type: 'Ready', status: 'True' });
});

describe('the order of creation does not matter', () => {
  const orders: [string, <T>(list: readonly T[]) => T[]][] = [
    ['as one writes it', (list) => [...list]],
    ['backwards', (list) => list.toReversed()],
    ['the group and the configurations last', (list) => [...list.slice(8), ...list.slice(0, 8)]],
  ];
  it.each(orders)('%s', async (_, order) => {
    const here = await playground();
    runPods(testScope(), here);
    for (const manifest of order(everySort())) await here.create(manifest);
    await here.becomes('VirtualMCPServer', 'all', { type: 'Ready', status: 'True' });
    const { metadata } = await here.appears('VirtualMCPServer', 'all', (vmcp) => at(vmcp, 'status.phase') === 'Ready');
    expect(metadata.name).toBe('all');
    const wrong = async () =>
      conditionsOf(await here.get('VirtualMCPServer', 'all')).filter(
        ({ type, status }) => /Valid|Validated|AuthConfig|Configured/u.test(type) && status !== 'True',
      );
    await expect.poll(wrong).toEqual([]);
  });
});

it('no value of a Secret is in any object, event or metric', async () => {
  const here = await playground();
  await here.create(...everySort());
  await here.appears('Deployment', 'vmcp-all');
  await here.becomes('VirtualMCPServer', 'all', { type: 'AuthConfigured', status: 'True' });
  const kinds = [
    ...OWNED_KINDS,
    'Event',
    'Pod',
    'VirtualMCPServer',
    'MCPServer',
    'MCPServerEntry',
    'MCPOIDCConfig',
    'MCPExternalAuthConfig',
    'MCPWebhookConfig',
  ];
  const objects = (await Promise.all(kinds.map((kind) => here.list(kind)))).flat();
  const metrics = await (await fetch(`${inject('operator').management}/metrics`)).text();
  const text = `${JSON.stringify(objects)}${metrics}`;
  expect(objects.length).toBeGreaterThan(20);
  for (const form of [CANARY, Buffer.from(CANARY).toString('base64'), encodeURIComponent(CANARY)])
    expect(text).not.toContain(form);
});
