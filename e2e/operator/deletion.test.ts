import { describe, expect, it } from 'vitest';
import { entry, group, secret, virtualServer, type Manifest } from '../harness/manifests.ts';
import { eventually } from '../harness/poll.ts';
import { at, placeOf } from './playground.ts';
import { everySort, headerAuth, httpServer, oidcBy, oidcConfig, REMOTE } from './resources.ts';
import { sharedOperator } from './shared.ts';

const { playground, api } = sharedOperator();

describe('deletion of a referenced object', () => {
  it('blocks the deletion of an MCPExternalAuthConfig until its last reference is removed', async () => {
    const here = await playground();
    await here.create(group(), secret('key', { value: 'x' }), headerAuth('auth', 'key'));
    const by = { externalAuthConfigRef: { name: 'auth' } };
    await here.create(entry('one', REMOTE, 'streamable-http', by), httpServer('two', by));
    await here.create(
      virtualServer(
        {},
        { name: 'tools', outgoingAuth: { backends: { one: { type: 'externalAuthConfigRef', ...by } } } },
      ),
    );
    await here.appears('MCPExternalAuthConfig', 'auth', ({ metadata }) => (metadata.finalizers ?? []).length > 0);
    await here.remove('MCPExternalAuthConfig', 'auth');
    const blocked = { type: 'DeletionBlocked', status: 'True', reason: 'ReferencedByWorkloads' };
    const { message } = await here.becomes('MCPExternalAuthConfig', 'auth', blocked);
    for (const name of ['one', 'two', 'tools']) expect(message).toContain(name);
    await here.remove('MCPServerEntry', 'one');
    await here.patch('MCPServer', 'two', { spec: { externalAuthConfigRef: null } });
    const left = await here.appears(
      'MCPExternalAuthConfig',
      'auth',
      (config) => !JSON.stringify(config['status']).includes('MCPServer/two'),
    );
    expect(JSON.stringify(left['status'])).toContain('VirtualMCPServer/tools');
    const events = (await here.list('Event')).filter((event) => event['reason'] === 'DeletionBlocked');
    expect(events.length).toBeGreaterThan(0);
    await here.patch('VirtualMCPServer', 'tools', { spec: { outgoingAuth: null } });
    await here.disappears('MCPExternalAuthConfig', 'auth');
  });

  it('blocks the deletion of an MCPOIDCConfig until its server is deleted', async () => {
    const here = await playground();
    await here.create(group(), oidcConfig('login'), virtualServer({}, { name: 'tools', ...oidcBy('login') }));
    await here.appears('MCPOIDCConfig', 'login', ({ metadata }) => (metadata.finalizers ?? []).length > 0);
    await here.remove('MCPOIDCConfig', 'login');
    await here.becomes('MCPOIDCConfig', 'login', { type: 'DeletionBlocked', status: 'True' });
    await here.remove('VirtualMCPServer', 'tools');
    await here.disappears('MCPOIDCConfig', 'login');
  });

  it('blocks the deletion of an MCPGroup for its VirtualMCPServer, not for its members', async () => {
    const here = await playground();
    await here.create(group('served'), group('unused'), virtualServer({}, { name: 'tools', groupName: 'served' }));
    await here.create(httpServer('web', { groupRef: { name: 'unused' } }));
    await here.appears('MCPGroup', 'served', ({ metadata }) => (metadata.finalizers ?? []).length > 0);
    await here.remove('MCPGroup', 'unused');
    await here.disappears('MCPGroup', 'unused');
    await here.becomes('MCPServer', 'web', { type: 'GroupRefValidated', status: 'False', reason: 'GroupRefNotFound' });
    await here.remove('MCPGroup', 'served');
    await here.becomes('VirtualMCPServer', 'tools', {
      type: 'GroupRefValidated',
      status: 'False',
      reason: 'GroupRefNotReady',
    });
    await here.patch('VirtualMCPServer', 'tools', { spec: { groupRef: { name: 'other' } } });
    await here.disappears('MCPGroup', 'served');
  });

  it('is reported while the finalizer of another controller holds it up', async () => {
    const here = await playground();
    const finalizers = ['example.com/held'];
    const held = (manifest: Manifest): Manifest => ({
      ...manifest,
      metadata: Object.assign({ finalizers }, manifest.metadata),
    });
    await here.create(group(), held(oidcConfig('login')), held(httpServer('web')));
    await here.create(virtualServer({}, { name: 'tools', ...oidcBy('login') }));
    await here.appears('MCPOIDCConfig', 'login', ({ metadata }) => (metadata.finalizers ?? []).length > 1);
    await here.remove('MCPOIDCConfig', 'login');
    await here.becomes('MCPOIDCConfig', 'login', { type: 'DeletionBlocked', status: 'True' });
    await here.remove('VirtualMCPServer', 'tools');
    await here.appears('MCPOIDCConfig', 'login', (each) => !JSON.stringify(each['status']).includes('DeletionBlocked'));
    await here.remove('MCPServer', 'web');
    await here.appears('MCPServer', 'web', (each) => at(each, 'status.phase') === 'Terminating');
    for (const [kind, name] of [
      ['MCPOIDCConfig', 'login'],
      ['MCPServer', 'web'],
    ] as const) {
      await here.patch(kind, name, { metadata: { finalizers: null } });
      await here.disappears(kind, name);
    }
  });

  it('deletes an unreferenced object at once', async () => {
    const here = await playground();
    await here.create(oidcConfig('login'), headerAuth('auth', 'key'), group());
    await here.appears('MCPOIDCConfig', 'login', (config) => config['status'] !== undefined);
    for (const [kind, name] of [
      ['MCPOIDCConfig', 'login'],
      ['MCPExternalAuthConfig', 'auth'],
      ['MCPGroup', 'fixtures'],
    ] as const) {
      await here.remove(kind, name);
      await here.disappears(kind, name, 5_000);
    }
  });
});

it('a namespace with every kind of object can be deleted', async () => {
  const here = await playground();
  await here.create(...everySort());
  await here.appears('Deployment', 'vmcp-all');
  await here.appears('MCPExternalAuthConfig', 'by-header', ({ metadata }) => (metadata.finalizers ?? []).length > 0);
  await api().remove(placeOf('Namespace', undefined, here.namespace));
  await eventually(
    'the namespace is deleted',
    async () => (await api().get(placeOf('Namespace', undefined, here.namespace))) === undefined,
  );
});

it('updates both groups and both servers when a member moves to another group', async () => {
  const here = await playground();
  await here.create(group('one'), group('two'));
  for (const name of ['one', 'two']) await here.create(virtualServer({}, { name, groupName: name }));
  await here.create(httpServer('web', { groupRef: { name: 'one' } }));
  const isIn = async (place: 'one' | 'two', other: 'one' | 'two') => {
    await here.appears(
      'MCPGroup',
      place,
      (each) => JSON.stringify(at(each, 'status.servers')) === '["web"]' && at(each, 'status.serverCount') === 1,
    );
    await here.appears('MCPGroup', other, (each) => at(each, 'status.serverCount') === 0);
    await here.appears('ConfigMap', `${place}-vmcp-backends`, (map) => JSON.stringify(map['data']).includes('mcp-web'));
    await here.appears(
      'ConfigMap',
      `${other}-vmcp-backends`,
      (map) => !JSON.stringify(map['data']).includes('mcp-web'),
    );
  };
  await isIn('one', 'two');
  await here.patch('MCPServer', 'web', { spec: { groupRef: { name: 'two' } } });
  await isIn('two', 'one');
});
