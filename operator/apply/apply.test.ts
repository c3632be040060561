import { describe, expect, it } from 'vitest';
import { RESOURCES, type KubeObject } from '../../gateway/kube/resource.ts';
import { Applier } from './apply.ts';
import { ownerReferenceOf } from './owned.ts';
import { ObjectServer } from './testdata/object-server.ts';
import { WrittenObjects } from './written-objects.ts';

const OWNER: KubeObject = {
  apiVersion: 'vmcp.dev/v1alpha1',
  kind: 'MCPServer',
  metadata: { namespace: 'team', name: 'web', uid: 'owner-1' },
  spec: {},
};
const object = (kind: string, members: object, owner: KubeObject = OWNER): KubeObject => ({
  apiVersion: kind === 'Deployment' ? 'apps/v1' : 'v1',
  kind,
  metadata: {
    namespace: 'team',
    name: 'mcp-web',
    labels: { 'app.kubernetes.io/managed-by': 'vmcp-operator' },
    ownerReferences: [ownerReferenceOf(owner)],
  },
  ...members,
});
const CONFIG = object('ConfigMap', { data: { a: '1' } });
const SERVICE = object('Service', { spec: { ports: [{ port: 80 }] } });
const DEPLOYMENT = object('Deployment', {
  spec: { template: { spec: { containers: [{ name: 'mcp', image: 'a:1' }] } } },
});
const ALL = [DEPLOYMENT, SERVICE, CONFIG];

function setUp() {
  const server = new ObjectServer();
  let now = 0;
  const written = new WrittenObjects(() => now);
  const target = new Applier({
    client: server,
    seen: server,
    written,
    identity: 'ours/vmcp-operator',
    now: () => now,
  });
  const writesOf = async (desired: readonly KubeObject[], owner = OWNER) => {
    server.writes.length = 0;
    const applied = await target.apply(owner, desired);
    return { ...applied, writes: [...server.writes] };
  };
  return { server, target, written, writesOf, pass: (ms: number) => (now += ms) };
}

describe('Applier', () => {
  it('creates missing objects, the workload last, and then writes nothing', async () => {
    const { writesOf } = setUp();
    const first = await writesOf(ALL);
    expect(first.writes).toEqual(['apply ConfigMap/mcp-web', 'apply Service/mcp-web', 'apply Deployment/mcp-web']);
    expect(first.objects.map(({ kind }) => kind)).toEqual(['ConfigMap', 'Service', 'Deployment']);
    const second = await writesOf(ALL);
    expect(second).toMatchObject({ writes: [], problems: [], waiting: false });
    expect(second.objects).toHaveLength(3);
  });

  it('applies independent objects concurrently and resolves after the last one', async () => {
    const { server, target } = setUp();
    const ended: string[] = [];
    const held = Promise.withResolvers<undefined>();
    const apply = server.apply.bind(server);
    server.apply = async (request) => {
      const result = apply(request);
      if (request.kind === 'Service') await held.promise;
      return result.finally(() => ended.push(request.kind));
    };
    server.refusals.set('ConfigMap', { status: 500, reason: 'InternalError', message: 'busy' });
    const applied = target.apply(OWNER, ALL);
    const outcome = expect(applied).rejects.toThrow('busy');
    await expect.poll(() => ended).toEqual(['ConfigMap']);
    expect(server.writes).toEqual(['apply ConfigMap/mcp-web', 'apply Service/mcp-web']);
    void applied.catch(() => ended.push('all'));
    held.resolve(undefined);
    await outcome;
    expect(ended).toEqual(['ConfigMap', 'Service', 'all']);
  });

  it('deletes unwanted objects that the watch has not reported yet', async () => {
    const { server, writesOf } = setUp();
    server.holdWatch();
    await writesOf([CONFIG, SERVICE]);
    expect((await writesOf([CONFIG])).writes).toEqual(['delete Service/mcp-web']);
    expect((await writesOf([CONFIG])).writes).toEqual([]);
  });

  it('does not write again before the watch reports the first write', async () => {
    const { server, writesOf, pass } = setUp();
    server.holdWatch();
    expect((await writesOf(ALL)).writes).toHaveLength(3);
    expect((await writesOf(ALL)).writes).toEqual([]);
    pass(61_000); // and does not believe in it for ever
    expect((await writesOf(ALL)).writes).toHaveLength(6); // each create is rejected because the object exists, then the object is updated
  });

  it('writes only changed objects', async () => {
    const { writesOf } = setUp();
    await writesOf(ALL);
    const changed = { ...CONFIG, data: { a: '2' } };
    expect((await writesOf([changed, SERVICE, DEPLOYMENT])).writes).toEqual(['apply ConfigMap/mcp-web']);
  });

  it('writes when a field is no longer desired, which only the digest shows', async () => {
    const { writesOf } = setUp();
    await writesOf([{ ...CONFIG, data: { a: '1', b: '2' } }]);
    expect((await writesOf([CONFIG])).writes).toEqual(['apply ConfigMap/mcp-web']);
  });

  it('reverts edits of its fields and keeps fields that others added', async () => {
    const { server, writesOf } = setUp();
    await writesOf([CONFIG]);
    const live = server.find('ConfigMap', 'mcp-web')!;
    server.put({ ...live, data: { a: '1', theirs: 'x' } });
    expect((await writesOf([CONFIG])).writes).toEqual([]);
    server.put({ ...live, data: { a: 'edited' } });
    expect((await writesOf([CONFIG])).writes).toEqual(['apply ConfigMap/mcp-web']);
    expect(server.find('ConfigMap', 'mcp-web')).toMatchObject({ data: { a: '1' } });
  });

  it('accepts values normalised by the API server or a webhook, but reverts an edit', async () => {
    const { server, writesOf } = setUp();
    const service = object('Service', { spec: { ports: [{ port: 80 }], cpu: '1000m' } });
    server.normalize = (each) => ({ ...each, spec: { ...(each['spec'] as object), cpu: '1' } });
    expect((await writesOf([service])).writes).toHaveLength(1);
    expect((await writesOf([service])).writes).toEqual([]);
    const live = server.find('Service', 'mcp-web')!;
    server.put({ ...live, metadata: { ...live.metadata, annotations: { ...live.metadata.annotations, x: 'y' } } });
    expect((await writesOf([service])).writes).toEqual([]);
    server.put({ ...live, spec: { ...(live['spec'] as object), cpu: '7' } });
    expect((await writesOf([service])).writes).toHaveLength(1);
  });

  it('does not touch a foreign object of that name and creates no workload without its inputs', async () => {
    const { server, writesOf } = setUp();
    const { labels: _, ownerReferences: __, ...bare } = CONFIG.metadata;
    const theirs = server.put({ ...CONFIG, metadata: bare, data: { a: 'theirs' } });
    const { problems, objects } = await writesOf(ALL);
    expect(problems).toMatchObject([{ kind: 'MCPServer', name: 'web', reason: 'NameTaken' }]);
    expect(problems[0]?.message).toContain('ConfigMap "mcp-web"');
    expect(server.find('ConfigMap', 'mcp-web')).toBe(theirs);
    expect(objects.map(({ kind }) => kind)).toEqual(['Service']);
    server.objects.clear();
    expect((await writesOf(ALL)).problems).toEqual([]);
  });

  it('reads instead of writing while a foreign object is known to have the name', async () => {
    const { server, writesOf } = setUp();
    const { labels: _, ownerReferences: __, ...bare } = CONFIG.metadata;
    server.put({ ...CONFIG, metadata: bare });
    expect((await writesOf([CONFIG])).writes).toEqual(['apply ConfigMap/mcp-web']);
    const again = await writesOf([CONFIG]);
    expect(again.writes).toEqual([]);
    expect(again.problems).toMatchObject([{ reason: 'NameTaken' }]);
    server.objects.clear();
    expect(await writesOf([CONFIG])).toMatchObject({ problems: [], writes: ['apply ConfigMap/mcp-web'] });
  });

  it('restores an object that lost the label of the watch', async () => {
    const { server, writesOf, written } = setUp();
    await writesOf([CONFIG]);
    const live = server.find('ConfigMap', 'mcp-web')!;
    const unlabelled = server.put({ ...live, metadata: { ...live.metadata, labels: {} } });
    written.isEcho(RESOURCES.ConfigMap, live, undefined); // the watch reports a deletion
    expect(unlabelled.metadata.uid).toBe(live.metadata.uid);
    expect((await writesOf([CONFIG])).problems).toEqual([]);
    expect(server.find('ConfigMap', 'mcp-web')?.metadata).toMatchObject({
      uid: live.metadata.uid,
      labels: { 'app.kubernetes.io/managed-by': 'vmcp-operator' },
    });
  });

  it('deletes an object of an earlier owner of the same name, then creates its own', async () => {
    const { server, writesOf } = setUp();
    const gone = { ...OWNER, metadata: { ...OWNER.metadata, uid: 'owner-0' } };
    server.put(object('ConfigMap', { data: {} }, gone));
    const first = await writesOf(ALL);
    expect(first.waiting).toBe(true);
    expect(first.writes).toEqual(['delete ConfigMap/mcp-web', 'apply Service/mcp-web']);
    expect(await writesOf(ALL)).toMatchObject({
      waiting: false,
      writes: ['apply ConfigMap/mcp-web', 'apply Deployment/mcp-web'],
    });
  });

  it('waits for an object that is being deleted', async () => {
    const { server, writesOf } = setUp();
    await writesOf([CONFIG]);
    const live = server.find('ConfigMap', 'mcp-web')!;
    server.put({ ...live, metadata: { ...live.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } });
    expect(await writesOf([CONFIG])).toMatchObject({ waiting: true, writes: [], problems: [] });
  });

  it('deletes unwanted objects, but none while problems exist', async () => {
    const { server, writesOf } = setUp();
    await writesOf(ALL);
    server.refusals.set('ConfigMap', { status: 403, reason: 'Forbidden', message: 'exceeded quota: compute' });
    expect((await writesOf([{ ...CONFIG, data: {} }])).writes).toEqual(['apply ConfigMap/mcp-web']);
    server.refusals.clear();
    expect((await writesOf([CONFIG])).writes.toSorted()).toEqual([
      'delete Deployment/mcp-web',
      'delete Service/mcp-web',
    ]);
  });

  it.each([
    [403, 'exceeded quota: compute, requested: pods=1', 'QuotaExceeded', ''],
    [403, 'user "x" is attempting to grant RBAC permissions not currently held', 'RBACForbidden', ''],
    [403, 'violates PodSecurity "restricted:latest"', 'ApplyForbidden', ''],
    [422, 'spec.ports: Required value', 'ApplyInvalid', ''],
    [413, 'limit is 3145728', 'ApplyTooLarge', ''],
    [422, 'ConfigMap "c" is invalid: []: Too long: may not be more than 1048576 bytes', 'ApplyTooLarge', ''],
  ])(
    'turns a refusal with %i (%s) into the problem %s, and keeps the old workload',
    async (status, message, reason) => {
      const { server, writesOf } = setUp();
      await writesOf(ALL);
      const changed = [{ ...CONFIG, data: { a: '2' } }, SERVICE, { ...DEPLOYMENT, spec: { paused: true } }];
      server.refusals.set('ConfigMap', { status, reason: 'X', message });
      const { problems, objects, writes } = await writesOf(changed);
      expect(problems).toMatchObject([{ kind: 'MCPServer', namespace: 'team', name: 'web', path: '', reason }]);
      expect(problems[0]?.message).toContain(message);
      expect(writes).toEqual(['apply ConfigMap/mcp-web']);
      expect(objects.map(({ kind }) => kind)).toEqual(['ConfigMap', 'Service', 'Deployment']);
    },
  );

  it.each([403, 422])('reports a %i after a conflict too', async (status) => {
    const { server, writesOf } = setUp();
    await writesOf([CONFIG]);
    server.holdWatch();
    server.objects.clear(); // deleted, but not reported by the watch yet
    server.onConflict = () => server.refusals.set('ConfigMap', { status, reason: 'X', message: 'no' });
    const { problems } = await writesOf([{ ...CONFIG, data: { a: '2' } }]);
    expect(problems).toMatchObject([{ reason: status === 403 ? 'ApplyForbidden' : 'ApplyInvalid' }]);
  });

  it('keeps objects that old pods may need until the new pods are available', async () => {
    const { server, writesOf } = setUp();
    const account = object('ServiceAccount', {});
    const workload = object('Deployment', { spec: { replicas: 1 } });
    const left = object('StatefulSet', { spec: {} });
    await writesOf([account, SERVICE, workload, { ...left, apiVersion: 'apps/v1' }]);
    expect((await writesOf([workload])).writes).toEqual(['delete Service/mcp-web']);
    expect((await writesOf([workload])).writes).toEqual([]);
    const live = server.find('Deployment', 'mcp-web')!;
    server.put({ ...live, status: { observedGeneration: 1, replicas: 1, updatedReplicas: 1, availableReplicas: 1 } });
    expect((await writesOf([workload])).writes).toEqual([
      'delete StatefulSet/mcp-web',
      'delete ServiceAccount/mcp-web',
    ]);
  });

  it('sets back the number of pods that others changed, and reports it, but not its own changes', async () => {
    const { server, writesOf } = setUp();
    const scaled = async (replicas: number) =>
      (await writesOf([object('Deployment', { spec: { replicas } })])).scaledBack;
    expect([await scaled(1), await scaled(1)]).toEqual([false, false]);
    server.put({ ...server.find('Deployment', 'mcp-web')!, spec: { replicas: 3 } });
    expect(await scaled(1)).toBe(true);
    expect(server.find('Deployment', 'mcp-web')).toMatchObject({ spec: { replicas: 1 } });
    expect([await scaled(1), await scaled(2)]).toEqual([false, false]);
  });

  it('replaces a list in which an edit of the key left a conflicting item', async () => {
    const { server, writesOf } = setUp();
    await writesOf([SERVICE]);
    const live = server.find('Service', 'mcp-web')!;
    server.put({ ...live, spec: { ports: [{ port: 8080 }] } });
    server.refusals.set('Service', { status: 422, reason: 'Invalid', message: 'spec.ports[1].name: Duplicate value' });
    server.onPatch = () => server.refusals.clear();
    const { problems, writes } = await writesOf([SERVICE]);
    expect(problems).toEqual([]);
    expect(writes).toEqual(['apply Service/mcp-web', 'patch Service/mcp-web']);
    expect(server.find('Service', 'mcp-web')).toMatchObject({ spec: { ports: [{ port: 80 }] } });
  });

  it('deletes a RoleBinding to another Role, which cannot be changed, and creates it again', async () => {
    const { server, writesOf } = setUp();
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'web-mcp' };
    const binding = { ...object('RoleBinding', { roleRef }), apiVersion: 'rbac.authorization.k8s.io/v1' };
    await writesOf([binding]);
    server.put({ ...server.find('RoleBinding', 'mcp-web')!, roleRef: { ...roleRef, name: 'other' } });
    server.refusals.set('RoleBinding', { status: 422, reason: 'Invalid', message: 'roleRef: cannot change roleRef' });
    expect(await writesOf([binding])).toMatchObject({
      problems: [],
      waiting: true,
      writes: ['apply RoleBinding/mcp-web', 'delete RoleBinding/mcp-web'],
    });
    server.refusals.clear();
    expect((await writesOf([binding])).writes).toEqual(['apply RoleBinding/mcp-web']);
    expect(server.find('RoleBinding', 'mcp-web')).toMatchObject({ roleRef });
  });

  it('reports the pod template patch when the patched workload is rejected', async () => {
    const { server, writesOf } = setUp();
    server.refusals.set('Deployment', { status: 422, reason: 'Invalid', message: 'spec.template: bad' });
    expect((await writesOf(ALL)).problems).toMatchObject([{ reason: 'ApplyInvalid', path: '' }]);
    const patched = { ...OWNER, spec: { podTemplateSpec: {} } };
    expect((await writesOf(ALL, patched)).problems).toMatchObject([
      { reason: 'InvalidPodTemplateSpec', path: 'spec.podTemplateSpec' },
    ]);
  });

  it.each([
    [503, 'ServiceUnavailable', 'etcd'],
    [0, 'Unreachable', 'refused'],
    [404, 'NotFound', 'namespaces "team" not found'],
    [403, 'Forbidden', 'unable to create new content in namespace team because it is being terminated'],
  ])('throws an error that a retry may resolve: %i %s', async (status, reason, message) => {
    const { server, target } = setUp();
    server.refusals.set('Service', { status, reason, message });
    await expect(target.apply(OWNER, ALL)).rejects.toThrow(message);
  });

  it('returns the current state of a workload', async () => {
    const { target, writesOf } = setUp();
    await writesOf(ALL);
    expect(target.live(RESOURCES.Deployment, 'team', 'mcp-web')).toMatchObject({ kind: 'Deployment' });
    expect(target.live(RESOURCES.StatefulSet, 'team', 'mcp-web')).toBeUndefined();
  });
});
