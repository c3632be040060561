import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, it } from 'vitest';
import type { ControlPlane } from '../harness/control-plane/control-plane.ts';
import type { ClusterApi } from '../harness/control-plane/api.ts';
import { entry } from '../harness/manifests.ts';
import { eventually } from '../harness/poll.ts';
import { blockScope } from '../harness/scope.ts';
import { ownControlPlane, type OperatorAccess } from './access.ts';
import { startOperator, type Operator } from './operator-process.ts';
import { newPlayground, type Playground } from './playground.ts';
import { everySort, REMOTE } from './resources.ts';
import { settled, unobserved, versions } from './steady-state.ts';

const scope = blockScope();
let plane: ControlPlane;
let api: ClusterApi;
let access: OperatorAccess;
let operator: Operator;
let here: Playground;
let count = 0;

beforeAll(async () => {
  ({ plane, api, access } = await ownControlPlane(scope));
  here = await newPlayground(scope, api);
  operator = await startOperator(scope, plane, access);
  await here.create(...everySort());
  await here.appears('Deployment', 'vmcp-all');
  await settled(api, [here.namespace]);
});

/** Checks that the operator works: a new member appears in the backends of the gateway. */
async function works(timeoutMs = 30_000): Promise<void> {
  const name = `entry-${String((count += 1))}`;
  await here.create(entry(name, REMOTE));
  await here.appears(
    'ConfigMap',
    'all-vmcp-backends',
    (map) => JSON.stringify(map['data']).includes(`"${name}`) || JSON.stringify(map['data']).includes(name),
    timeoutMs,
  );
  await eventually('every object is observed', async () => (await unobserved(here)).length === 0, { timeoutMs });
  expect(operator.running()).toBe(true);
}

const deployments = async (): Promise<[string, string][]> =>
  Object.entries(await versions(api, [here.namespace])).filter(([name]) =>
    /^(Deployment|StatefulSet|Service)\//u.test(name),
  );

it('works after a restart of the API server', async () => {
  const before = await deployments();
  await plane.apiserver.stop();
  await sleep(2_000);
  await plane.apiserver.start();
  await works();
  expect(await deployments()).toEqual(before);
});

it('works after an outage of the API server that is longer than the lease', async () => {
  await plane.apiserver.stop();
  await sleep(20_000);
  await plane.apiserver.start();
  await works();
});

it('works after a restart of etcd', async () => {
  await plane.etcd.stop();
  await sleep(3_000);
  await plane.etcd.start();
  await eventually('the API server answers again', async () => (await api.send('GET', '/readyz')).status === 200);
  await works();
});

it('lists again when a watch has expired', async () => {
  const old = (await here.get('MCPGroup', 'fixtures'))?.metadata.resourceVersion ?? '';
  operator.signal('SIGSTOP');
  await here.create(entry('unseen', REMOTE));
  await here.remove('MCPServer', 'web');
  await compact(plane);
  // A restart clears the watch cache of the API server.
  await plane.apiserver.stop();
  await plane.apiserver.start();
  const watch = `/apis/vmcp.dev/v1alpha1/mcpgroups?watch=1&timeoutSeconds=1&resourceVersion=${old}`;
  const expired = await eventually('the API server serves the kind again', async () => {
    const { status, body } = await api.send('GET', watch);
    return status !== 429 && `${String(status)} ${JSON.stringify(body)}`;
  });
  expect(expired).toMatch(/410|too old resource version/u);
  operator.signal('SIGCONT');
  await here.appears(
    'ConfigMap',
    'all-vmcp-backends',
    (map) => JSON.stringify(map['data']).includes('unseen') && !JSON.stringify(map['data']).includes('mcp-web'),
    40_000,
  );
  await works();
});

/** Removes every revision of etcd except the last. */
async function compact({ etcdUrl }: ControlPlane): Promise<void> {
  const post = async (path: string, body: unknown): Promise<unknown> => {
    const response = await fetch(`${etcdUrl}${path}`, { method: 'POST', body: JSON.stringify(body) });
    expect(response.status).toBe(200);
    return response.json();
  };
  const { header } = (await post('/v3/kv/range', { key: 'AA==' })) as { header: { revision: string } };
  await post('/v3/kv/compaction', { revision: header.revision, physical: true });
}

it('waits while the API server answers 429, and then applies the changes', async () => {
  const name = 'no-operator';
  const flow = 'flowcontrol.apiserver.k8s.io/v1';
  const [group, account] = [access.username.split(':')[2] ?? '', access.username.split(':')[3] ?? ''];
  await api.create({
    apiVersion: flow,
    kind: 'PriorityLevelConfiguration',
    metadata: { name },
    spec: {
      type: 'Limited',
      limited: {
        nominalConcurrencyShares: 0,
        lendablePercent: 0,
        borrowingLimitPercent: 0,
        limitResponse: { type: 'Reject' },
      },
    },
  });
  await api.create({
    apiVersion: flow,
    kind: 'FlowSchema',
    metadata: { name },
    spec: {
      priorityLevelConfiguration: { name },
      matchingPrecedence: 2,
      rules: [
        {
          subjects: [{ kind: 'ServiceAccount', serviceAccount: { namespace: group, name: account } }],
          resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'], clusterScope: true }],
        },
      ],
    },
  });
  await sleep(2_000);
  await here.create(entry('throttled', REMOTE));
  await sleep(5_000);
  for (const kind of ['FlowSchema', 'PriorityLevelConfiguration']) await api.remove({ apiVersion: flow, kind, name });
  await here.appears(
    'ConfigMap',
    'all-vmcp-backends',
    (map) => JSON.stringify(map['data']).includes('throttled'),
    40_000,
  );
  await works();
});
