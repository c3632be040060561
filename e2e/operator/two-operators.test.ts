import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { KubeManifest } from '../harness/control-plane/api.ts';
import { entry, group, virtualServer } from '../harness/manifests.ts';
import { eventually } from '../harness/poll.ts';
import { testScope } from '../harness/scope.ts';
import { ownControlPlane } from './access.ts';
import { startOperator, type Operator } from './operator-process.ts';
import { at, newPlayground } from './playground.ts';
import { REMOTE } from './resources.ts';

/** Longer than the interval at which an operator compares objects at rest. */
const TAKE_OVER_MS = 50_000;
const imageOf = (name: string): string => `localhost/${name}:1`;

const appliedBy = ({ metadata }: KubeManifest): string => metadata.annotations?.['vmcp.dev/applied-by'] ?? '';

it('two operators with different settings stop overwriting each other, and the remaining one takes over', async () => {
  const { plane, api, access } = await ownControlPlane(testScope());
  const here = await newPlayground(testScope(), api);
  const start = (podName: string): Promise<Operator> =>
    startOperator(testScope(), plane, access, {
      watch: here.namespace,
      leaderElect: false,
      podName,
      env: { GATEWAY_IMAGE: imageOf(podName) },
    });
  const deploymentOf = (podName: string) =>
    here.appears(
      'Deployment',
      'vmcp-tools',
      (each) => at(each, 'spec.template.spec.containers.0.image') === imageOf(podName),
      TAKE_OVER_MS,
    );

  const first = await start('first');
  await here.create(group(), entry('remote', REMOTE), virtualServer({}, { name: 'tools' }));
  const identity = appliedBy(await deploymentOf('first'));
  expect(identity).toMatch(/^vmcp-system\/vmcp-operator-/u);
  const second = await start('second');
  const event = await eventually('an event of the second operator names the first', async () =>
    (await here.list('Event')).find(({ reason }) => reason === 'AnotherOperator'),
  );
  expect(event['message']).toContain(identity);
  await deploymentOf('second');
  const { metadata } = await deploymentOf('first');
  const { metadata: owner } = await here.appears('VirtualMCPServer', 'tools');
  await sleep(40_000);
  expect((await here.get('Deployment', 'vmcp-tools'))?.metadata.generation).toBe(metadata.generation);
  const atRest = (await here.get('VirtualMCPServer', 'tools'))?.metadata.resourceVersion;
  expect(Number(atRest) - Number(owner.resourceVersion)).toBeLessThan(100);

  await first.stop();
  await second.stop();
  await start('third');
  const last = appliedBy(await deploymentOf('third'));
  expect(last).not.toBe(identity);
  const appliers = async () => {
    const kinds = ['ServiceAccount', 'Role', 'ConfigMap', 'Service', 'Deployment'];
    const all = (await Promise.all(kinds.map((kind) => here.list(kind)))).flat();
    return new Set(all.filter(({ metadata }) => metadata.ownerReferences?.[0]?.name === 'tools').map(appliedBy));
  };
  await expect.poll(appliers).toEqual(new Set([last]));
}, 280_000);
