import { expect, it } from 'vitest';
import { eventually } from '../../harness/poll.ts';
import { testScope } from '../../harness/scope.ts';
import { connectCluster, OPERATOR_NAMESPACE } from '../harness/cluster.ts';
import { exampleManifests } from './example.ts';

const cluster = connectCluster();
const NAMESPACE = 'uninstall';
const EVERY_KIND =
  'deployments,statefulsets,services,configmaps,serviceaccounts,roles,rolebindings,secrets,poddisruptionbudgets,pods';

/** Objects that Kubernetes creates in each namespace, and the release of the CRD chart. */
const OF_OTHERS = /\/(default|kube-root-ca\.crt|sh\.helm\.release\.v1\.vmcp-crds\.v\d+)$/u;

/** Lists `kind/name` of the other objects in the namespace. */
async function left(): Promise<string[]> {
  const text = await cluster.kubectl(['-n', NAMESPACE, 'get', EVERY_KIND, '-o', 'name']);
  return text.split('\n').filter((line) => line !== '' && !OF_OTHERS.test(line));
}

it('deletes its objects and the operator', async () => {
  await cluster.namespace(testScope(), NAMESPACE);
  const manifests = exampleManifests('kubernetes-anonymous');
  await cluster.apply(NAMESPACE, manifests);
  await cluster.condition(NAMESPACE, 'virtualmcpserver', 'demo', { type: 'Ready' });
  await expect.poll(async () => (await left()).length).toBeGreaterThan(10);

  await cluster.kubectl(['-n', NAMESPACE, 'delete', '-f', '-'], { input: manifests });
  await eventually(
    'nothing is left of the servers',
    async () => {
      const names = await left();
      if (names.length > 0) throw new Error(names.join(' '));
      return true;
    },
    { timeoutMs: 90_000, intervalMs: 500 },
  );

  await cluster.helm(['uninstall', 'vmcp', '--namespace', OPERATOR_NAMESPACE, '--wait']);
  const clusterWide = async () =>
    (await cluster.kubectl(['get', 'clusterroles,clusterrolebindings', '-o', 'name']))
      .split('\n')
      .filter((line) => line.includes('vmcp'));
  await expect.poll(clusterWide).toEqual([]);
  await eventually('nothing is left of the operator', async () => {
    const own = await cluster.kubectl(['-n', OPERATOR_NAMESPACE, 'get', `${EVERY_KIND},leases`, '-o', 'name']);
    const names = own.split('\n').filter((line) => line !== '' && !OF_OTHERS.test(line));
    if (names.length > 0) throw new Error(names.join(' '));
    return true;
  });
  expect(await cluster.kubectl(['get', 'crd', '-o', 'name'])).toContain('virtualmcpservers.vmcp.dev'); // the CRDs stay: deleting them would delete the resources of the user

  await cluster.installCharts();
});
