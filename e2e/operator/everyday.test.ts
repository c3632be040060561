import { expect, inject, it } from 'vitest';
import { entry, group, virtualServer } from '../harness/manifests.ts';
import { eventually } from '../harness/poll.ts';
import { testScope } from '../harness/scope.ts';
import { untilRefused } from './access.ts';
import { runPods } from './kubelet.ts';
import { at, conditionsOf, placeOf, statusOf } from './playground.ts';
import { everySort, httpServer, REMOTE, stdioServer } from './resources.ts';
import { kubectl as kubectlIn, kubectlFile, sharedOperator } from './shared.ts';
import { settled } from './steady-state.ts';

const { playground, api } = sharedOperator();
const PATIENCE = { timeout: 30_000, interval: 250 };

it('a new value of a Secret replaces no pod: gateways read it again', async () => {
  const here = await playground();
  await here.create(...everySort());
  await settled(api(), [here.namespace]);
  const before = await here.appears('Deployment', 'vmcp-all');
  const hash = async () => statusOf(await here.get('VirtualMCPServer', 'all'))['secretHash'];
  const first = await eventually('the versions in use are known', async () => {
    const value = await hash();
    return typeof value === 'string' && value;
  });
  await here.patch('Secret', 'header', { data: { value: 'bmV3' } });
  await eventually('the new version is in use', async () => (await hash()) !== first);
  expect((await here.get('Deployment', 'vmcp-all'))?.['spec']).toEqual(before['spec']);
});

it('reports an exceeded quota, and applies the objects when the quota is deleted', async () => {
  const here = await playground();
  const { apiVersion, kind } = placeOf('ResourceQuota');
  const metadata = { name: 'tight', namespace: here.namespace };
  await api().create({ apiVersion, kind, metadata, spec: { hard: { 'count/services': '0' } } });
  await here.appears('ResourceQuota', 'tight', (quota) => at(quota, 'status.hard') !== undefined);
  const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'probe' }, spec: { ports: [{ port: 80 }] } };
  await untilRefused(here, service, 'exceeded quota');
  await here.create(group(), virtualServer({}, { name: 'tools' }));
  const condition = await here.becomes('VirtualMCPServer', 'tools', { type: 'Applied', status: 'False' });
  expect(condition.message).toContain('quota');
  await here.remove('ResourceQuota', 'tight');
  await here.becomes('VirtualMCPServer', 'tools', { type: 'Applied', status: 'True' }, 60_000);
});

it('runs servers in a namespace whose quota demands requests', async () => {
  const here = await playground();
  const { apiVersion, kind } = placeOf('ResourceQuota');
  const hard = { 'requests.cpu': '1', 'requests.memory': '1Gi' };
  await api().create({ apiVersion, kind, metadata: { name: 'fair', namespace: here.namespace }, spec: { hard } });
  await here.appears('ResourceQuota', 'fair', (quota) => at(quota, 'status.hard') !== undefined);
  await here.create(httpServer('web'), stdioServer('local'), httpServer('without', { resources: {} }));
  const classes = async () =>
    (await here.list('Pod'))
      .map((pod) => [pod.metadata.labels?.['app.kubernetes.io/instance'], at(pod, 'status.qosClass')])
      .toSorted();
  await expect.poll(classes, { timeout: 30_000 }).toEqual([
    ['local', 'Burstable'],
    ['web', 'Burstable'],
  ]);
});

it('advises against settings that work but are probably not intended', async () => {
  const here = await playground();
  const twice = { passthroughHeaders: ['X-A'], config: { passthroughHeaders: ['X-B'] } };
  await here.create(group(), entry('remote', REMOTE), virtualServer({}, { name: 'tools', ...twice }));
  const condition = await here.becomes('VirtualMCPServer', 'tools', { type: 'Advisory', status: 'True' });
  expect(condition.message).toContain('spec.config.passthroughHeaders');
  await here.patch('VirtualMCPServer', 'tools', { spec: { config: null } });
  await here.appears('VirtualMCPServer', 'tools', (vmcp) =>
    conditionsOf(vmcp).every(({ type }) => type !== 'Advisory'),
  );
});

it('exposes a gauge for the readiness of each resource until it is deleted', async () => {
  const here = await playground();
  const gauge = async (): Promise<string | undefined> => {
    const text = await (await fetch(`${inject('operator').management}/metrics`)).text();
    const line = text
      .split('\n')
      .find((each) =>
        ['vmcp_resource_ready{', `namespace="${here.namespace}"`, 'kind="VirtualMCPServer"'].every((part) =>
          each.includes(part),
        ),
      );
    return line?.split(' ').at(-1);
  };
  await here.create(entry('remote', REMOTE), virtualServer({}, { name: 'tools' }));
  await eventually('it is not ready', async () => (await gauge()) === '0');
  runPods(testScope(), here);
  await here.create(group());
  await eventually('it is ready', async () => (await gauge()) === '1');
  await here.remove('VirtualMCPServer', 'tools');
  await eventually('it is gone', async () => (await gauge()) === undefined);
});

it.skipIf(kubectlFile === undefined)('kubectl get mcp shows every kind in its columns', async () => {
  const here = await playground();
  await here.create(...everySort());
  runPods(testScope(), here);
  await here.becomes('VirtualMCPServer', 'all', { type: 'Ready', status: 'True' });
  await here.becomes('MCPServer', 'web', { type: 'Ready', status: 'True' });
  await here.patch('VirtualMCPServer', 'all', { status: { backendCount: 3 } }, 'status');
  const kubectl = (...args: readonly string[]): Promise<string> => kubectlIn(here, args);
  const lines = async (kind: string) =>
    (await kubectl('get', kind)).split('\n').map((line) => line.trim().split(/\s+/u));
  const shows = async (kind: string, row: readonly unknown[]) => {
    await expect.poll(() => lines(kind), PATIENCE).toEqual(expect.arrayContaining([row]));
  };
  expect((await lines('vmcp'))[0]).toEqual(['NAME', 'PHASE', 'URL', 'BACKENDS', 'AGE', 'READY']);
  expect(await kubectl('get', 'mcpoidc', '-o', 'wide')).toContain('the config can be used');
  const wide = await kubectl('get', 'vmcp', '-o', 'wide');
  expect(wide.split('\n')[0]?.trim().split(/\s+/u).at(-1)).toBe('MESSAGE');
  expect(wide).toContain('2 of 2 pods are ready');
  const age: unknown = expect.any(String);
  const urlOf = (name: string): unknown => expect.stringContaining(`http://${name}.`);
  await shows('vmcp', ['all', 'Ready', urlOf('vmcp-all'), '3', age, 'True']);
  await shows('mcpserver', ['web', 'Ready', 'True', '1', urlOf('mcp-web'), age]);
  await shows('mcpg', ['fixtures', '2', '1', 'Ready', 'True', age]);
  await shows('mcpoidc', ['login', 'inline', 'True', age]);
  await shows('extauth', ['by-exchange', 'tokenExchange', 'True', age]);
  await shows('mcpentry', ['remote', 'Valid', 'streamable-http', REMOTE, 'fixtures', age]);
  const named = [
    'vmcp/all',
    'mcpserver/web',
    'mcpg/fixtures',
    'mcpoidc/login',
    'extauth/by-exchange',
    'mcpentry/remote',
  ];
  const waited = await kubectl('wait', '--for=condition=Ready', '--timeout=10s', ...named);
  expect(waited.match(/condition met/gu)).toHaveLength(named.length);
  const all = await kubectl('get', 'mcp');
  for (const kind of [
    'mcpgroup',
    'mcpserver',
    'mcpserverentry',
    'mcpoidcconfig',
    'mcpexternalauthconfig',
    'virtualmcpserver',
  ])
    expect(all).toContain(`${kind}.vmcp.dev/`);
});
