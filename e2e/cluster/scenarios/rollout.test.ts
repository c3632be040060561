import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../../harness/poll.ts';
import { blockScope } from '../../harness/scope.ts';
import { openSession } from '../../harness/clients/raw.ts';
import { VERSION } from '../../../operator/cli/version.ts';
import { backendImage, connectCluster, OPERATOR_NAMESPACE } from '../harness/cluster.ts';
import { startLoad } from './load.ts';

const cluster = connectCluster();
const NAMESPACE = 'rollout';

const resource = (kind: string, name: string, spec: object) => ({
  apiVersion: 'vmcp.dev/v1alpha1',
  kind,
  metadata: { name },
  spec,
});

describe('two pods under load', () => {
  const scope = blockScope();
  let url = '';
  const kubectl = (...args: string[]) => cluster.kubectl(['-n', NAMESPACE, ...args]);
  const rolledOut = () => kubectl('rollout', 'status', 'deployment/vmcp-busy', '--timeout=120s');

  beforeAll(async () => {
    await cluster.namespace(scope, NAMESPACE);
    await cluster.apply(NAMESPACE, [
      resource('MCPGroup', 'busy', {}),
      resource('MCPServer', 'slow', {
        groupRef: { name: 'busy' },
        image: backendImage(VERSION),
        transport: 'streamable-http',
        args: ['sdk-1-stateless', 'slow'],
      }),
      resource('VirtualMCPServer', 'busy', {
        groupRef: { name: 'busy' },
        replicas: 2,
        sessionAffinity: 'ClientIP',
        incomingAuth: { type: 'anonymous' },
      }),
    ]);
    await cluster.condition(NAMESPACE, 'virtualmcpserver', 'busy', { type: 'Ready' });
    await cluster.condition(NAMESPACE, 'mcpserver', 'slow', { type: 'Ready' });
    url = `${await cluster.serviceUrl(NAMESPACE, 'vmcp-busy')}/mcp`;
    await eventually('the tool is listed', async () => (await (await openSession(url)).tools()).includes('slow_slow'));
  });

  it('loses no call in a rolling update', async () => {
    const load = startLoad(url, 'slow_slow');
    await sleep(2_000);
    await kubectl('rollout', 'restart', 'deployment/vmcp-busy');
    await rolledOut();
    await sleep(8_000); // the old pods drain
    const { answered, lost } = await load.stop();
    expect(lost).toEqual([]);
    expect(answered).toBeGreaterThan(100);
  });

  it('loses no call when the chart is upgraded and every gateway gets a new pod', async () => {
    const load = startLoad(url, 'slow_slow');
    await sleep(1_000);
    await cluster.installCharts(['operator.defaultImagePullSecrets={nothing}']);
    await eventually('the operator has changed the Deployment', async () =>
      JSON.stringify((await cluster.get(NAMESPACE, 'deployment', 'vmcp-busy'))?.spec).includes('"nothing"'),
    );
    await rolledOut();
    await sleep(8_000);
    const { answered, lost } = await load.stop();
    expect(lost).toEqual([]);
    expect(answered).toBeGreaterThan(100);
  });

  it('keeps serving after a pod is killed, and replaces the pod', async () => {
    const pods = async () =>
      (await kubectl('get', 'pods', '-l', 'app.kubernetes.io/instance=busy', '-o', 'name')).trim().split('\n');
    const [victim = ''] = await pods();
    await kubectl('delete', victim, '--grace-period=0', '--force', '--wait=false');
    await eventually('a client is served', async () => {
      const session = await openSession(url);
      return (await session.call('slow_slow', { ms: 1 })).status === 200;
    });
    await eventually(
      'both pods are ready',
      async () => {
        const deployment = await cluster.get(NAMESPACE, 'deployment', 'vmcp-busy');
        return deployment?.status?.['readyReplicas'] === 2 && !(await pods()).includes(victim);
      },
      { timeoutMs: 60_000 },
    );
    await cluster.condition(NAMESPACE, 'virtualmcpserver', 'busy', { type: 'Ready' });
  });

  it('serves without the operator, and the next operator applies changes', async () => {
    await cluster.kubectl(['-n', OPERATOR_NAMESPACE, 'delete', 'pods', '--all', '--grace-period=0', '--force']);
    expect((await (await openSession(url)).call('slow_slow', { ms: 1 })).status).toBe(200);
    await kubectl('scale', 'virtualmcpserver/busy', '--replicas=3').catch(() =>
      kubectl('patch', 'virtualmcpserver', 'busy', '--type=merge', '-p', '{"spec":{"replicas":3}}'),
    );
    await eventually(
      'the new operator has acted',
      async () => (await cluster.get(NAMESPACE, 'deployment', 'vmcp-busy'))?.spec?.['replicas'] === 3,
      { timeoutMs: 60_000 },
    );
  });
});
