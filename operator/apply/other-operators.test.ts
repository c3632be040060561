import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../gateway/kube/resource.ts';
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
const object = (kind: string, members: object): KubeObject => ({
  apiVersion: kind === 'Deployment' ? 'apps/v1' : kind === 'PodDisruptionBudget' ? 'policy/v1' : 'v1',
  kind,
  metadata: {
    namespace: 'team',
    name: 'mcp-web',
    labels: { 'app.kubernetes.io/managed-by': 'vmcp-operator' },
    ownerReferences: [ownerReferenceOf(OWNER)],
  },
  ...members,
});
const BUDGET = object('PodDisruptionBudget', { spec: { maxUnavailable: 1 } });
/** Returns the objects that an operator with this image desires. */
const wants = (image: string): KubeObject[] => [
  object('ConfigMap', { data: { a: '1' } }),
  object('Deployment', { spec: { template: { spec: { containers: [{ name: 'mcp', image }] } } } }),
];

function setUp() {
  const server = new ObjectServer();
  let now = 0;
  const operator = (identity: string, desired: readonly KubeObject[]) => {
    const written = new WrittenObjects(() => now);
    const target = new Applier({ client: server, seen: server, written, identity, now: () => now });
    return async () => {
      server.writes.length = 0;
      const { problems, againInMs } = await target.apply(OWNER, desired);
      return { writes: [...server.writes], reasons: problems.map(({ reason }) => reason), problems, againInMs };
    };
  };
  return { server, operator, pass: (ms: number) => (now += ms) };
}
const LEFT = { writes: [], reasons: ['AnotherOperator'] };
const BOTH = ['apply ConfigMap/mcp-web', 'apply Deployment/mcp-web'];

describe('OtherOperators', () => {
  it('keeps the objects of the first operator', async () => {
    const { operator, pass } = setUp();
    const first = operator('a/vmcp-operator', wants('a:1'));
    const second = operator('b/vmcp-operator', wants('b:1'));
    await first();
    const refused = await second();
    expect(refused).toMatchObject({ ...LEFT, againInMs: 30_000 });
    expect(refused.problems[0]?.message).toContain('a/vmcp-operator');
    pass(30_000);
    expect((await second()).writes).toEqual(BOTH);
    expect(await first()).toMatchObject({ ...LEFT, againInMs: 30_000 });
    pass(30_000);
    expect((await first()).writes).toEqual(BOTH);
    expect(await second()).toMatchObject({ ...LEFT, againInMs: 30_000 });
    pass(30_000);
    for (const each of [1, 2, 3]) {
      expect(await second(), String(each)).toMatchObject({ ...LEFT, againInMs: undefined });
      expect((await first()).writes).toEqual([]);
      pass(400_000);
    }
  });

  it('takes over all objects of an operator that no longer runs, and keeps them', async () => {
    const { server, operator, pass } = setUp();
    await operator('a/vmcp-operator', wants('a:1'))();
    const renamed = operator('b/vmcp-operator', wants('b:1'));
    await renamed();
    pass(29_999);
    expect(await renamed()).toMatchObject({ ...LEFT, againInMs: 1 });
    pass(1);
    expect(await renamed()).toMatchObject({ writes: BOTH, reasons: [] });
    expect(await renamed()).toMatchObject({ writes: [], reasons: [] });
    for (const each of server.objects.values())
      expect(each.metadata.annotations?.['vmcp.dev/applied-by']).toBe('b/vmcp-operator');
    pass(600_000);
    const back = operator('a/vmcp-operator', wants('a:1'));
    await back();
    pass(30_000);
    expect((await back()).writes).toEqual(BOTH);
  });

  it('restarts the wait whenever the other operator writes', async () => {
    const { operator, pass } = setUp();
    await operator('a/vmcp-operator', wants('a:1'))();
    const second = operator('b/vmcp-operator', wants('b:1'));
    await second();
    pass(20_000);
    await operator('a/vmcp-operator', wants('a:2'))();
    expect(await second()).toMatchObject({ ...LEFT, againInMs: 30_000 });
  });

  it('accepts an operator with the same desired state, and objects without a mark', async () => {
    const { server, operator, pass } = setUp();
    await operator('a/vmcp-operator', wants('a:1'))();
    const same = operator('b/vmcp-operator', wants('a:1'));
    expect(await same()).toMatchObject({ writes: [], reasons: [] });
    pass(60_000);
    expect(await same()).toMatchObject({ writes: [], reasons: [] });
    for (const each of server.objects.values()) {
      const { 'vmcp.dev/applied-by': _, ...annotations } = each.metadata.annotations ?? {};
      server.put({ ...each, metadata: { ...each.metadata, annotations } });
    }
    expect((await operator('b/vmcp-operator', wants('b:1'))()).writes).toEqual(['apply Deployment/mcp-web']);
  });

  it('neither deletes nor creates objects while another operator owns them', async () => {
    const { operator, pass } = setUp();
    const first = operator('a/vmcp-operator', [BUDGET, ...wants('a:1')]);
    const second = operator('b/vmcp-operator', wants('a:1'));
    await first();
    expect(await second()).toMatchObject(LEFT);
    pass(61_000); // here no watch reports the deletion
    expect((await second()).writes).toContain('delete PodDisruptionBudget/mcp-web');
    expect(await first()).toMatchObject(LEFT);
    pass(30_000);
    expect((await first()).writes).toContain('apply PodDisruptionBudget/mcp-web');
    expect(await second()).toMatchObject({ ...LEFT, againInMs: 30_000 });
    pass(30_000);
    expect(await second()).toMatchObject({ ...LEFT, againInMs: undefined });
  });

  it('does not mistake its own unfinished take-over for a reaction', async () => {
    const { server, operator, pass } = setUp();
    await operator('a/vmcp-operator', wants('a:1'))();
    const second = operator('b/vmcp-operator', wants('b:1'));
    await second();
    pass(30_000);
    server.refusals.set('Deployment', { status: 503, reason: 'ServiceUnavailable', message: 'etcd' });
    await expect(second()).rejects.toThrow('etcd');
    server.refusals.clear();
    expect(await second()).toMatchObject({ writes: ['apply Deployment/mcp-web'], reasons: [] });
  });

  it('does not overwrite the objects of an operator that wrote first', async () => {
    const { server, operator } = setUp();
    server.holdWatch();
    await operator('a/vmcp-operator', wants('a:1'))();
    const second = operator('b/vmcp-operator', wants('b:1'));
    await expect(second()).rejects.toMatchObject({ status: 409 });
    server.resumeWatch();
    expect(await second()).toMatchObject(LEFT);
  });

  it('does not mistake equal concurrent writes for a conflict', async () => {
    const { server, operator, pass } = setUp();
    const [first, second] = ['a', 'b'].map((name) => operator(`${name}/vmcp-operator`, wants('a:2')));
    await operator('c/vmcp-operator', wants('a:1'))();
    await first!();
    await second!();
    pass(30_000);
    expect((await first!()).writes).toEqual(BOTH);
    const live = server.find('Deployment', 'mcp-web')!;
    const annotations = { ...live.metadata.annotations, 'vmcp.dev/applied-by': 'b/vmcp-operator' };
    server.put({ ...live, metadata: { ...live.metadata, annotations } });
    expect(await first!()).toMatchObject({ writes: [], reasons: [] });
    expect(await second!()).toMatchObject({ writes: [], reasons: [] });
    pass(30_000);
    const hash = { ...annotations, 'vmcp.dev/applied-hash': 'later' };
    server.put({ ...live, metadata: { ...live.metadata, annotations: hash } });
    expect(await first!()).toMatchObject({ ...LEFT, againInMs: 30_000 });
    pass(30_000);
    expect((await first!()).writes).toEqual(['apply Deployment/mcp-web']);
  });

  it('does not mistake the start of a reaction for an agreement', async () => {
    const { server, operator, pass } = setUp();
    const first = operator('a/vmcp-operator', wants('a:1'));
    const second = operator('b/vmcp-operator', wants('b:1'));
    await first();
    await second();
    pass(30_000);
    await second();
    await first();
    pass(30_000);
    const live = server.find('ConfigMap', 'mcp-web')!;
    const annotations = { ...live.metadata.annotations, 'vmcp.dev/applied-by': 'a/vmcp-operator' };
    server.put({ ...live, metadata: { ...live.metadata, annotations } });
    expect(await second()).toMatchObject({ writes: [], reasons: [] });
    expect((await first()).writes).toContain('apply Deployment/mcp-web');
    await second();
    pass(30_000);
    expect(await second()).toMatchObject({ ...LEFT, againInMs: undefined });
  });
});
