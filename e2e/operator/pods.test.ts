import { expect, it } from 'vitest';
import { entry, group, secret, virtualServer, type Manifest } from '../harness/manifests.ts';
import { testScope } from '../harness/scope.ts';
import { OPERATOR_NAMESPACE } from './access.ts';
import { at, Playground } from './playground.ts';
import { headerAuth, REMOTE, stdioServer } from './resources.ts';
import { sharedOperator } from './shared.ts';

const { playground, api } = sharedOperator();

it('keeps the pods while a Secret of a backend is deleted and recreated', async () => {
  const here = await playground();
  await here.create(
    group(),
    secret('key', { value: 'first' }),
    headerAuth('by-header', 'key'),
    entry('keyed', REMOTE, 'streamable-http', { externalAuthConfigRef: { name: 'by-header' } }),
    entry('open', REMOTE),
    virtualServer({}, { name: 'tools', outgoingAuth: { backends: { keyed: { type: 'discovered' } } } }),
  );
  const before = await here.appears('Deployment', 'vmcp-tools', (each) =>
    JSON.stringify(each['spec']).includes('"path":"key/value"'),
  );
  const serves = (served: boolean) =>
    here.appears('ConfigMap', 'tools-vmcp-backends', (map) => JSON.stringify(map['data']).includes('keyed') === served);
  await serves(true);
  await here.remove('Secret', 'key');
  await serves(false);
  await here.create(secret('key', { value: 'second' }));
  await serves(true);
  await here.becomes('VirtualMCPServer', 'tools', { type: 'BackendsDiscovered', status: 'True' });
  expect((await here.get('Deployment', 'vmcp-tools'))?.metadata['generation']).toBe(before.metadata['generation']);
});

it('the object names of a stdio server and of a virtual server do not collide', async () => {
  const here = await playground();
  await here.create(group(), stdioServer('a-vmcp'), virtualServer({}, { name: 'mcp-a' }));
  await here.becomes('MCPServer', 'a-vmcp', { type: 'Applied', status: 'True' });
  await here.becomes('VirtualMCPServer', 'mcp-a', { type: 'Applied', status: 'True' });
});

it('only the gateway of a stdio server gets the token of its account', async () => {
  const here = await playground();
  await here.create(group(), stdioServer('local', { serviceAccount: 'mine' }));
  const set = await here.appears('StatefulSet', 'mcp-local');
  expect(at(set, 'spec.template.spec')).toMatchObject({
    serviceAccountName: 'mine',
    automountServiceAccountToken: false,
  });
});

it('no pod runs with the account of the operator, even in its own namespace', async () => {
  const here = new Playground(api(), OPERATOR_NAMESPACE);
  const account = 'vmcp-operator';
  const made: [kind: string, manifest: Manifest][] = [
    ['MCPGroup', group()],
    ['VirtualMCPServer', virtualServer({}, { name: 'evil', serviceAccount: account })],
    ['VirtualMCPServer', virtualServer({}, { name: 'patched', ...podTemplate({ serviceAccountName: account }) })],
    ['MCPServer', stdioServer('shell', { serviceAccount: account })],
  ];
  for (const [kind, manifest] of made) {
    await here.create(manifest);
    testScope().defer(() => here.remove(kind, manifest.metadata.name));
  }
  const refused = { type: 'Applied', status: 'False', reason: 'ReservedAccount' };
  await here.becomes('VirtualMCPServer', 'evil', refused);
  await here.becomes('MCPServer', 'shell', refused);
  const patched = { type: 'PodTemplateSpecValid', status: 'False', reason: 'InvalidPodTemplateSpec' };
  expect((await here.becomes('VirtualMCPServer', 'patched', patched)).message).toContain('[ReservedAccount]');
  expect([...(await here.list('Deployment')), ...(await here.list('StatefulSet'))]).toEqual([]);
});

const podTemplate = (spec: Readonly<Record<string, unknown>>) => ({ podTemplateSpec: { spec } });
