import { describe, expect, it } from 'vitest';
import { entry, group, virtualServer, type Manifest } from '../harness/manifests.ts';
import { testScope } from '../harness/scope.ts';
import { runPods } from './kubelet.ts';
import { at, placeOf, type Playground } from './playground.ts';
import { httpServer, REMOTE } from './resources.ts';
import { sharedOperator } from './shared.ts';

const { playground } = sharedOperator();

const autoscaler = (target: { readonly kind: string; readonly name: string }): Manifest => ({
  apiVersion: placeOf('HorizontalPodAutoscaler').apiVersion,
  kind: 'HorizontalPodAutoscaler',
  metadata: { name: 'scaler' },
  // No metrics are needed: the controller raises the number of pods to the minimum first.
  spec: { scaleTargetRef: { apiVersion: placeOf(target.kind).apiVersion, ...target }, minReplicas: 3, maxReplicas: 5 },
});

const replicasAre = (here: Playground, name: string, count: number) =>
  here.appears('Deployment', name, (deployment) => at(deployment, 'spec.replicas') === count);

describe.concurrent('the subresource scale', () => {
  it('sets the number of pods, and shows them with their labels', async () => {
    const here = await playground();
    await here.create(group(), httpServer('web'), entry('remote', REMOTE), virtualServer({}, { name: 'tools' }));
    runPods(testScope(), here);
    for (const [kind, name, pods] of [
      ['MCPServer', 'web', 'mcp-web'],
      ['VirtualMCPServer', 'tools', 'vmcp-tools'],
    ] as const) {
      await here.becomes(kind, name, { type: 'Ready', status: 'True' });
      await here.patch(kind, name, { spec: { replicas: 2 } }, 'scale');
      await replicasAre(here, pods, 2);
      await here.appears(kind, name, (object) => at(object, 'status.replicas') === 2);
      const scale = await here.patch(kind, name, {}, 'scale');
      expect(scale).toMatchObject({ kind: 'Scale', spec: { replicas: 2 }, status: { replicas: 2 } });
      const labels = Object.fromEntries(
        (at(scale, 'status.selector') as string).split(',').map((each) => each.split('=')),
      );
      const selected = (await here.list('Pod')).filter(({ metadata }) =>
        Object.entries(labels).every(([label, value]) => metadata.labels?.[label] === value),
      );
      expect(selected).toHaveLength(2);
    }
  });

  it('is what an autoscaler changes', async () => {
    const here = await playground();
    await here.create(group(), httpServer('web', { replicas: 1 }));
    await here.create(autoscaler({ kind: 'MCPServer', name: 'web' }));
    await replicasAre(here, 'mcp-web', 3);
    await here.becomes('MCPServer', 'web', { type: 'SessionStorageWarning', status: 'True' });
  });
});
