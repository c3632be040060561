import { describe, expect, it } from 'vitest';
import { RESOURCES, type KubeObject } from '../../gateway/kube/resource.ts';
import type { ObjectRef } from '../resolve/scope.ts';
import { newSnapshot } from '../resolve/snapshot.ts';
import { Applier } from '../apply/apply.ts';
import { ObjectServer } from '../apply/testdata/object-server.ts';
import { WrittenObjects } from '../apply/written-objects.ts';
import type { EventNote } from './events.ts';
import type { Decision, KindController, ReconcileInput } from './kinds.ts';
import { IN_USE } from './protection.ts';
import { createReconciler } from './reconcile.ts';
import { ManualClock } from './testdata/manual-clock.ts';
import { UnreadyPods } from './unready-pods.ts';

const KEY: ObjectRef = { kind: 'MCPServer', namespace: 'team', name: 'web' };
const LABELS = { 'app.kubernetes.io/managed-by': 'vmcp-operator' };
const deployment = (owner: KubeObject, image = 'a:1'): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: {
    namespace: 'team',
    name: 'mcp-web',
    labels: LABELS,
    ownerReferences: [
      { apiVersion: owner.apiVersion, kind: owner.kind, name: 'web', uid: owner.metadata.uid ?? '', controller: true },
    ],
  },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: 'web' } },
    template: { spec: { containers: [{ name: 'mcp', image }] } },
  },
});

/** Reconciler over one object, with a controller that the test provides. */
function setUp(
  decide: (input: ReconcileInput) => Decision,
  {
    kind = 'MCPServer',
    metadata = {},
    protects = true,
    reportsDeletion = true,
  }: { kind?: string; metadata?: object; protects?: boolean; reportsDeletion?: boolean } = {},
) {
  const server = new ObjectServer();
  const clock = new ManualClock();
  const written = new WrittenObjects(() => clock.now());
  const results: string[] = [];
  const lines: string[] = [];
  const events: EventNote[] = [];
  const world = {
    terminating: false,
    referrers: [] as ObjectRef[],
    ready: () => Promise.resolve(),
    isThere: true,
    /** Object as the watch reported it, if it differs from the API server. */
    seen: undefined as KubeObject | undefined,
  };
  const seen = {
    raw: (...[type, namespace, name]: Parameters<ObjectServer['raw']>) =>
      type.group === 'vmcp.dev'
        ? world.isThere
          ? (world.seen ?? server.objects.get(`${type.kind}/${namespace}/${name}`))
          : undefined
        : server.raw(type, namespace, name),
    owned: server.owned.bind(server),
    snapshot: (namespace: string) => newSnapshot(namespace, {}),
    problemsOf: () => [],
    referrersOf: () => world.referrers,
    referencesReady: () => world.ready(),
    namespaceIsTerminating: () => world.terminating,
    serves: () => true,
  };
  const controller: KindController = { kind, decide, reportsDeletion };
  const run = createReconciler({
    controllers: [controller],
    view: seen,
    client: server,
    target: new Applier({ client: server, seen, written, identity: 'test/vmcp-operator', now: () => clock.now() }),
    written,
    pods: new UnreadyPods({ list: () => Promise.resolve({ items: [] }) }, () => clock.now()),
    protects,
    render: {} as ReconcileInput['render'],
    clock,
    metrics: { reconciled: (_controller, result) => results.push(result) },
    record: (_about, event) => events.push(event),
    log: { debug: (message) => lines.push(`debug ${message}`), warn: (message) => lines.push(`warn ${message}`) },
  });
  const own = server.put({
    apiVersion: 'vmcp.dev/v1alpha1',
    kind,
    metadata: { namespace: 'team', name: 'web', uid: 'u1', generation: 1, ...metadata },
    spec: {},
  });
  const reconcile = async (failures = 0) => {
    server.writes.length = 0;
    const outcome = await run({ ...KEY, kind }, failures);
    return { outcome, writes: [...server.writes] };
  };
  return { server, clock, world, results, lines, events, own, reconcile };
}
const says =
  (status: object, events: EventNote[] = []) =>
  () => ({ status: { ...status }, ready: true, events });

describe('createReconciler', () => {
  it('applies the decision and writes the status, and then writes nothing more', async () => {
    const event = { type: 'Normal', reason: 'Ready', message: 'it serves' } as const;
    const { reconcile, results, events, server } = setUp(({ object, now }) => ({
      objects: [deployment(object)],
      statusOf: ({ workload }) =>
        says({ phase: workload ? 'Ready' : 'Pending', seen: now === '2026-01-01T00:00:00Z' }, [event])(),
    }));
    expect((await reconcile()).writes).toEqual(['apply Deployment/mcp-web', 'apply MCPServer/web']);
    expect(server.find('MCPServer', 'web')?.['status']).toEqual({ phase: 'Ready', seen: true });
    expect((await reconcile()).writes).toEqual([]);
    expect(events).toEqual([event]);
    expect(results).toEqual(['requeue', 'requeue']); // pods have 10 s to become ready
  });

  it('writes no status for an edit that is known only from the response to its own write', async () => {
    const seen: unknown[] = [];
    const { reconcile, server, own, world } = setUp(({ object }) => {
      seen.push(object.metadata.generation);
      return { statusOf: says({ observedGeneration: object.metadata.generation }) };
    });
    const edited = { ...own, metadata: { ...own.metadata, generation: 2 } };
    server.normalize = (object) => ({ ...object, metadata: { ...object.metadata, generation: 2 } });
    world.seen = own;
    await reconcile();
    await reconcile();
    expect(seen).toEqual([1, 1]);
    world.seen = server.put(edited);
    await reconcile();
    expect(seen).toEqual([1, 1, 2]);
  });

  it('waits until referenced objects have been read, and fails when they cannot be read', async () => {
    const { reconcile, world, results, lines } = setUp(() => ({ statusOf: says({}) }));
    world.ready = () => Promise.reject(new Error('Secret cannot be read'));
    expect(await reconcile()).toEqual({ outcome: { failed: true }, writes: [] });
    expect(results).toEqual(['error']);
    expect(lines).toEqual(['warn reconcile failed and will be retried']);
  });

  it('does nothing for a deleted object', async () => {
    const { reconcile, world } = setUp(() => {
      throw new Error('not asked');
    });
    world.isThere = false;
    expect(await reconcile()).toEqual({ outcome: {}, writes: [] });
  });

  it('changes no objects while the decision contains none, and still reads the workload', async () => {
    let broken = false;
    const { reconcile, server } = setUp(({ object }) => ({
      ...(!broken && { objects: [deployment(object)] }),
      workloads: [{ type: RESOURCES.Deployment, name: 'mcp-web' }],
      statusOf: ({ workload }) => says({ there: workload !== undefined, broken })(),
    }));
    await reconcile();
    broken = true;
    expect((await reconcile()).writes).toEqual(['apply MCPServer/web']);
    expect(server.find('MCPServer', 'web')?.['status']).toEqual({ there: true, broken: true });
    expect(server.find('Deployment', 'mcp-web')).toBeDefined();
  });

  it('leaves objects of another operator unchanged, and records an event instead of a status', async () => {
    const { reconcile, server, events, own } = setUp(({ object }) => ({
      objects: [deployment(object)],
      statusOf: () => ({ status: { a: 1 }, ready: true, events: [] }),
    }));
    const { metadata, ...rest } = deployment(own, 'b:1');
    const annotations = { 'vmcp.dev/applied-by': 'other/vmcp-operator', 'vmcp.dev/applied-hash': 'x' };
    server.put({ ...rest, metadata: { ...metadata, annotations } });
    expect(await reconcile()).toEqual({ outcome: { requeueAfterMs: 30_000 }, writes: [] });
    expect(events).toMatchObject([{ type: 'Warning', reason: 'AnotherOperator' }]);
  });

  it('reports a rejection by the API server in the status, counts no failure, and retries', async () => {
    const { reconcile, server, results, lines } = setUp(({ object }) => ({
      objects: [deployment(object)],
      statusOf: ({ problems }) => says({ reasons: problems.map(({ reason }) => reason) })(),
    }));
    server.refusals.set('Deployment', { status: 403, reason: 'Forbidden', message: 'exceeded quota: pods' });
    expect((await reconcile()).outcome).toEqual({ refused: true });
    expect(results).toEqual(['refused']);
    expect(lines.filter((line) => line.startsWith('warn'))).toEqual([]);
    expect(server.find('MCPServer', 'web')?.['status']).toEqual({ reasons: ['QuotaExceeded'] });
    server.refusals.clear();
    expect((await reconcile()).outcome).toEqual({ requeueAfterMs: 10_000 });
    expect(server.find('MCPServer', 'web')?.['status']).toEqual({ reasons: [] });
  });

  it('checks every 3 s whether a taken name is free', async () => {
    const { reconcile, server, own } = setUp(({ object }) => ({
      objects: [deployment(object)],
      statusOf: ({ problems }) => says({ reasons: problems.map(({ reason }) => reason) })(),
    }));
    const { ownerReferences: _, labels: __, ...bare } = deployment(own).metadata;
    server.put({ ...deployment(own), metadata: bare });
    expect((await reconcile()).outcome).toEqual({ requeueAfterMs: 3_000 });
    expect(await reconcile()).toEqual({ outcome: { requeueAfterMs: 3_000 }, writes: [] });
  });

  it('adds the finalizer while objects refer to this one, and reports them', async () => {
    const { reconcile, server, world } = setUp(({ blockedBy }) => ({ statusOf: says({ blockedBy }) }), {
      kind: 'MCPOIDCConfig',
    });
    world.referrers = [{ kind: 'VirtualMCPServer', namespace: 'team', name: 'v' }];
    expect((await reconcile()).writes).toEqual(['patch MCPOIDCConfig/web', 'apply MCPOIDCConfig/web']);
    const live = server.find('MCPOIDCConfig', 'web')!;
    expect(live.metadata.finalizers).toEqual([IN_USE]);
    server.put({ ...live, metadata: { ...live.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } });
    expect((await reconcile()).writes).toEqual(['apply MCPOIDCConfig/web']);
    expect(server.find('MCPOIDCConfig', 'web')?.['status']).toEqual({ blockedBy: ['VirtualMCPServer/v'] });
    world.referrers = [];
    expect((await reconcile()).writes).toEqual(['patch MCPOIDCConfig/web']);
    expect(server.find('MCPOIDCConfig', 'web')?.metadata.finalizers).toEqual([]);
  });

  it('removes the finalizer, and adds none, when protection is off', async () => {
    const referrers = [{ kind: 'VirtualMCPServer', namespace: 'team', name: 'v' }];
    const bare = setUp(({ blockedBy }) => ({ statusOf: says({ blockedBy }) }), {
      kind: 'MCPOIDCConfig',
      protects: false,
    });
    bare.world.referrers = referrers;
    expect((await bare.reconcile()).writes).toEqual(['apply MCPOIDCConfig/web']);
    const held = setUp(({ blockedBy }) => ({ statusOf: says({ blockedBy }) }), {
      kind: 'MCPOIDCConfig',
      protects: false,
      metadata: { finalizers: ['example.com/other', IN_USE], deletionTimestamp: '2026-01-01T00:00:00Z' },
    });
    held.world.referrers = referrers;
    expect((await held.reconcile()).writes).toEqual(['patch MCPOIDCConfig/web', 'apply MCPOIDCConfig/web']);
    const live = held.server.find('MCPOIDCConfig', 'web')!;
    expect(live.metadata.finalizers).toEqual(['example.com/other']);
    held.server.put({ ...live, metadata: { ...live.metadata, finalizers: [IN_USE] } }); // as another operator would
    expect((await held.reconcile()).writes).toEqual([]);
  });

  it('reports a failure once, from the third failed run on, and keeps retrying', async () => {
    const { reconcile, server, events, results, world } = setUp(({ object }) => ({
      objects: [deployment(object)],
      statusOf: says({ phase: 'Ready', conditions: [] }),
    }));
    const hook = { status: 500, reason: 'InternalError', message: 'failed calling webhook "dead.example.com"' };
    server.refusals.set('Deployment', hook);
    expect((await reconcile(0)).writes).toEqual(['apply Deployment/mcp-web']);
    expect((await reconcile(1)).writes).toEqual(['apply Deployment/mcp-web']);
    expect(await reconcile(2)).toEqual({
      outcome: { failed: true },
      writes: ['apply Deployment/mcp-web', 'apply MCPServer/web'],
    });
    const said = () => server.find('MCPServer', 'web')?.['status'] as { conditions: { message: string }[] };
    expect(said().conditions).toMatchObject([
      { type: 'Applied', status: 'False', reason: 'ApplyFailed' },
      { type: 'Reconciling', status: 'True', reason: 'ApplyFailed' },
    ]);
    expect(said().conditions[0]?.message).toContain('dead.example.com');
    expect(events.map(({ type, reason }) => `${type} ${reason}`)).toEqual(['Warning ApplyFailed']);
    expect((await reconcile(3)).writes).toEqual(['apply Deployment/mcp-web']);
    world.ready = () => Promise.reject(new Error('canary'));
    expect((await reconcile(4)).writes).toEqual(['apply MCPServer/web']);
    expect(JSON.stringify(said())).not.toContain('canary');
    expect(new Set(results)).toEqual(new Set(['error']));
    world.ready = () => Promise.resolve();
    server.refusals.clear();
    await reconcile(5);
    expect(said()).toEqual({ phase: 'Ready', conditions: [] });
  });

  it('reports conflicts only after more failures', async () => {
    const { reconcile, server } = setUp(({ object }) => ({ objects: [deployment(object)], statusOf: says({}) }));
    server.refusals.set('Deployment', { status: 404, reason: 'NotFound', message: 'no such resource' });
    expect((await reconcile(8)).writes).not.toContain('apply MCPServer/web');
    expect((await reconcile(9)).writes).toContain('apply MCPServer/web');
  });

  it('does not fail when it cannot write the failure', async () => {
    const { reconcile, server, lines } = setUp(() => ({ statusOf: says({ a: 1 }) }));
    server.refusals.set('MCPServer', { status: 500, reason: 'InternalError', message: 'boom' });
    expect((await reconcile(7)).outcome).toEqual({ failed: true });
    expect(lines).toEqual(['warn reconcile failed and will be retried', 'debug failure not written to the status']);
  });

  it('creates and reports nothing in a terminating namespace, but removes the finalizer', async () => {
    const { reconcile, world } = setUp(({ object }) => ({ objects: [deployment(object)], statusOf: says({ a: 1 }) }), {
      kind: 'MCPExternalAuthConfig',
      metadata: { finalizers: [IN_USE] },
    });
    world.terminating = true;
    world.referrers = [{ kind: 'MCPServer', namespace: 'team', name: 's' }];
    expect(await reconcile()).toEqual({ outcome: {}, writes: ['patch MCPExternalAuthConfig/web'] });
  });

  it.each([true, false])(
    'applies nothing for an object whose deletion others hold up; writes a status: %s',
    async (reportsDeletion) => {
      const { reconcile } = setUp(({ object }) => ({ objects: [deployment(object)], statusOf: says({ a: 1 }) }), {
        metadata: { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['example.com/other'] },
        reportsDeletion,
      });
      const writes = reportsDeletion ? ['apply MCPServer/web'] : [];
      expect(await reconcile()).toEqual({ outcome: {}, writes });
      expect(await reconcile()).toEqual({ outcome: {}, writes: [] });
    },
  );

  it('logs conflicts at debug level and other failures as warnings', async () => {
    const { reconcile, server, lines } = setUp(() => ({ statusOf: says({ a: 1 }) }));
    server.refusals.set('MCPServer', { status: 409, reason: 'Conflict', message: 'modified' });
    expect((await reconcile()).outcome).toEqual({ failed: true });
    server.refusals.set('MCPServer', { status: 500, reason: 'InternalError', message: 'boom' });
    expect((await reconcile()).outcome).toEqual({ failed: true });
    expect(lines).toEqual(['debug reconcile will be retried', 'warn reconcile failed and will be retried']);
  });
});
