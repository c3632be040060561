import { describe, expect, it } from 'vitest';
import { entry, group, virtualServer, type Manifest } from '../../harness/manifests.ts';
import { testScope } from '../../harness/scope.ts';
import { runPods } from '../kubelet.ts';
import { at, placeOf, type Playground } from '../playground.ts';
import { httpServer, oidcBy, oidcConfig, REMOTE } from '../resources.ts';
import { sharedOperator } from '../shared.ts';
import { settled } from '../steady-state.ts';

const { api, playground } = sharedOperator();

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
      const labels = (at(scale, 'status.selector') as string).split(',').map((each) => each.split('='));
      const selected = (await here.list('Pod')).filter(({ metadata }) =>
        labels.every(([label = '', value]) => metadata.labels?.[label] === value),
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

describe.concurrent('without replicas', () => {
  const issuer = 'https://desk.example.com';
  const withLogins: readonly Manifest[] = [
    group(),
    oidcConfig('login', { issuer }),
    virtualServer(
      {},
      {
        name: 'tools',
        ...oidcBy('login'),
        authServerConfig: {
          issuer,
          upstreamProviders: [
            { name: 'corp', type: 'oidc', oidcConfig: { issuerUrl: 'https://idp.example.com', clientId: 'desk' } },
          ],
        },
      },
    ),
  ];
  const tools = ['VirtualMCPServer', 'tools'] as const;
  const deployment = { kind: 'Deployment', name: 'vmcp-tools' } as const;

  it('an autoscaler gets one pod where several would reject each other, and is told what they need', async () => {
    const here = await playground();
    runPods(testScope(), here);
    await here.create(...withLogins);
    await here.becomes(...tools, { type: 'Ready', status: 'True' });
    await replicasAre(here, 'vmcp-tools', 1);
    expect(await here.condition(...tools, 'ScaledBack')).toBeUndefined();
    await here.create(autoscaler(deployment));
    const condition = await here.becomes(...tools, {
      type: 'ScaledBack',
      status: 'True',
      reason: 'ReplicasShareNothing',
    });
    expect(condition.message).toContain('list keys in signingKeySecretRefs and hmacSecretRefs');
    await here.remove('HorizontalPodAutoscaler', 'scaler');
    await settled(api(), [here.namespace]);
    await replicasAre(here, 'vmcp-tools', 1);
    expect(await here.condition(...tools, 'ScaledBack')).toEqual(condition);
    expect(await here.condition(...tools, 'Valid')).toMatchObject({ status: 'True' });
  });

  it('an autoscaler sets the number where several pods can serve, and the status counts them', async () => {
    const here = await playground();
    runPods(testScope(), here);
    await here.create(group(), virtualServer({}, { name: 'tools' }));
    await replicasAre(here, 'vmcp-tools', 1);
    await here.becomes(...tools, { type: 'SessionStorageWarning', status: 'False' });
    await here.create(autoscaler(deployment));
    await here.becomes(...tools, { type: 'SessionStorageWarning', status: 'True' });
    await here.becomes(...tools, { type: 'Ready', status: 'True', message: '3 of 3 pods are ready' });
    await replicasAre(here, 'vmcp-tools', 3);
  });

  it('a scaled resource is refused where several pods cannot serve, and its pods stay', async () => {
    const here = await playground();
    await here.create(...withLogins);
    await replicasAre(here, 'vmcp-tools', 1);
    await here.patch(...tools, { spec: { replicas: 3 } }, 'scale');
    await here.becomes(...tools, { type: 'AuthServerConfigValidated', status: 'False' });
    await here.becomes(...tools, { type: 'Stalled', status: 'True' });
    await replicasAre(here, 'vmcp-tools', 1);
  });
});
