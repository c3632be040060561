import { beforeAll, describe, expect, inject, it } from 'vitest';
import { KubeClient } from '../../../gateway/kube/client.ts';
import { cluster as clusterProvider } from '../../../gateway/management/secrets/providers/cluster.ts';
import type { SecretsProvider } from '../../../gateway/management/secrets/providers/provider.ts';
import { defaultConnection } from '../../../operator/source/kube/kube-config.ts';
import { adminKubeconfigOf } from '../../harness/control-plane/control-plane.ts';
import { blockScope, testScope } from '../../harness/scope.ts';
import { CANARY } from '../resources.ts';
import { at, newPlayground, type Playground } from '../playground.ts';
import { sharedOperator } from '../shared.ts';
import { startManagement, type Management } from './management-process.ts';

const shared = sharedOperator();
const KEYS = '/secrets/default/keys';
const SECRET = 'vmcp-management-secrets';

describe('groups and secrets of a cluster', () => {
  const scope = blockScope();
  let team: Playground;
  let management: Management;
  const send: Management['send'] = (...args) => management.send(...args);

  beforeAll(async () => {
    team = await newPlayground(scope, shared.api(), 'keys');
    management = await startManagement(scope, shared.api(), inject('controlPlane'), [team.namespace]);
  });

  it('creates, lists and deletes MCPGroups', async () => {
    expect((await send('GET', '/groups')).json).toEqual({ groups: [{ name: 'default', registered_clients: [] }] });
    expect((await send('POST', '/groups', { name: 'blue' })).status).toBe(201);
    expect((await send('POST', '/groups', { name: 'blue' })).status).toBe(409);
    expect(await team.get('MCPGroup', 'blue')).toBeDefined();
    await team.create({ apiVersion: 'vmcp.dev/v1alpha1', kind: 'MCPGroup', metadata: { name: 'green' } });
    const names = ((await send('GET', '/groups')).json['groups'] as { name: string }[]).map(({ name }) => name);
    expect(names).toEqual(['blue', 'default', 'green']);
    expect((await send('DELETE', '/groups/blue')).status).toBe(204);
    expect((await send('GET', '/groups/blue')).status).toBe(404);
    expect((await send('DELETE', '/groups/default')).status).toBe(400);
    expect(await team.get('MCPGroup', 'default')).toBeUndefined();
    for (const name of ['my team', 'my_team']) expect((await send('POST', '/groups', { name })).status).toBe(400);
  });

  it('moves the workloads of a deleted group to the default group', async () => {
    await send('POST', '/groups', { name: 'gone' });
    const settings = { name: 'moved', image: 'registry.example.com/a:1', group: 'gone' };
    expect((await send('POST', '/workloads', settings)).status).toBe(201);
    expect((await send('DELETE', '/groups/gone')).status).toBe(204);
    expect(at(await team.get('MCPServer', 'moved'), 'spec.groupRef.name')).toBe('default');
    expect(await team.get('MCPGroup', 'default')).toBeDefined();
  });

  it('keeps secrets in one Secret, and passes them to workloads by name', async () => {
    expect((await send('GET', '/secrets/default')).json).toEqual({
      name: 'default',
      provider_type: 'cluster',
      capabilities: { can_read: true, can_write: true, can_delete: true, can_list: true, can_cleanup: true },
    });
    expect((await send('POST', KEYS, { key: 'api-key', value: CANARY })).status).toBe(201);
    expect((await send('POST', KEYS, { key: 'api-key', value: 'x' })).status).toBe(409);
    expect((await send('PUT', `${KEYS}/none`, { value: 'x' })).status).toBe(404);
    expect((await send('PUT', `${KEYS}/with%20space`, { value: 'x' })).status).toBe(404);
    expect((await send('POST', KEYS, { key: 'with space', value: 'x' })).status).toBe(400);
    expect((await send('POST', KEYS, { key: '__sys_registry_a', value: 'x' })).status).toBe(400);
    expect((await send('GET', KEYS)).json).toEqual({ keys: [{ key: 'api-key' }] });
    const image = 'registry.example.com/a:1';
    const settings = { name: 'keyed', image, secrets: [{ name: 'api-key', target: 'API_KEY' }] };
    expect((await send('POST', '/workloads', settings)).status).toBe(201);
    expect(at(await team.get('MCPServer', 'keyed'), 'spec.secrets')).toEqual([
      { name: SECRET, key: 'api-key', targetEnvName: 'API_KEY' },
    ]);
    const exported = await send('GET', '/workloads/keyed/export');
    expect(exported.json['secrets']).toEqual(['api-key,target=API_KEY']);
    const unknown = { ...settings, name: 'other', secrets: [{ name: 'none', target: 'A' }] };
    expect((await send('POST', '/workloads', unknown)).status).toBe(400);
    expect((await send('DELETE', `${KEYS}/api-key`)).status).toBe(204);
    expect((await send('DELETE', `${KEYS}/api-key`)).status).toBe(404);
    expect(management.run.output() + exported.text).not.toContain(CANARY);
  });

  it('answers 400 to secrets that do not fit, and to another provider', async () => {
    const half = 'x'.repeat(600 * 1024);
    expect((await send('POST', KEYS, { key: 'one', value: half })).status).toBe(201);
    expect((await send('POST', KEYS, { key: 'two', value: half })).status).toBe(400);
    expect((await send('DELETE', `${KEYS}/one`)).status).toBe(204);
    expect((await send('POST', '/secrets', { provider_type: 'encrypted' })).status).toBe(400);
    expect((await send('POST', '/secrets', { provider_type: 'cluster' })).status).toBe(201);
  });

  it('keeps all concurrent changes of secrets, beside those of other programs', async () => {
    const names = Array.from({ length: 6 }, (_, index) => `name-${String(index)}`);
    const statuses = await Promise.all(
      names.map(async (key) => (await send('POST', KEYS, { key, value: 'x' })).status),
    );
    expect(statuses).toEqual(names.map(() => 201));
    const same = Array.from({ length: 4 }, async () => (await send('POST', KEYS, { key: 'same', value: 'x' })).status);
    expect((await Promise.all(same)).toSorted()).toEqual([201, 409, 409, 409]);
    const data = at(await team.get('Secret', SECRET), 'data') as Record<string, string>;
    expect(Object.keys(data).toSorted()).toEqual([...names, 'same']);
  });
});

it('the provider cluster reads, changes and clears a Secret', async () => {
  const scope = testScope();
  const here = await newPlayground(scope, shared.api(), 'provider');
  const connection = await defaultConnection({ KUBECONFIG: adminKubeconfigOf(inject('controlPlane')) }, Date.now);
  const client = new KubeClient(connection);
  scope.defer(() => client.close());
  const provider = clusterProvider.create({ cluster: { client, namespace: here.namespace } } as never);
  await provider.setUp(undefined);
  const { set, delete: remove, list, clear } = provider as Required<SecretsProvider>;
  const bound = { set: set.bind(provider), remove: remove.bind(provider), list: list.bind(provider) };
  expect(await bound.set('a', 'one', 'present')).toBe(false);
  expect(await bound.set('a', 'ünïcode 👩‍🚀', 'absent')).toBe(true);
  expect(await bound.set('a', 'two', 'absent')).toBe(false);
  expect(await provider.get('a')).toBe('ünïcode 👩‍🚀');
  expect(await provider.get('constructor')).toBeUndefined();
  expect(await bound.set('__proto__', 'safe', 'any')).toBe(true);
  expect(await provider.get('__proto__')).toBe('safe');
  expect((await bound.list()).map(({ key }) => key).toSorted()).toEqual(['__proto__', 'a']);
  expect(await bound.remove('a')).toBe(true);
  expect(await bound.remove('a')).toBe(false);
  await clear.call(provider);
  expect(await bound.list()).toEqual([]);
});
