import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import type { KubeManifest } from '../harness/control-plane/api.ts';
import { entry, group, virtualServer } from '../harness/manifests.ts';
import { eventually } from '../harness/poll.ts';
import { blockScope, testScope } from '../harness/scope.ts';
import { ownControlPlane } from './access.ts';
import { startOperator, type Operator } from './operator-process.ts';
import { at, newPlayground } from './playground.ts';
import { REMOTE } from './resources.ts';
import { writesDuring } from './steady-state.ts';

/** Longer than the interval at which an operator compares objects at rest. */
const TAKE_OVER_MS = 50_000;
const imageOf = (name: string): string => `localhost/${name}:1`;

const appliedBy = ({ metadata }: KubeManifest): string => metadata.annotations?.['vmcp.dev/applied-by'] ?? '';

const scope = blockScope();
let own: Awaited<ReturnType<typeof ownControlPlane>>;
beforeAll(async () => {
  own = await ownControlPlane(scope);
});

/** Makes a namespace, with functions that start an operator for it and wait until that operator has applied its settings. */
async function contested() {
  const { plane, api, access } = own;
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
  const create = () => here.create(group(), entry('remote', REMOTE), virtualServer({}, { name: 'tools' }));
  return { here, start, deploymentOf, create };
}

describe.concurrent('operators with different settings', { timeout: 280_000 }, () => {
  it('stop overwriting each other', async () => {
    const { plane, access } = own;
    const { here, start, deploymentOf, create } = await contested();
    await start('first');
    await create();
    const identity = appliedBy(await deploymentOf('first'));
    expect(identity).toMatch(/^vmcp-system\/vmcp-operator-/u);
    await start('second');
    const event = await eventually('an event of the second operator names the first', async () =>
      (await here.list('Event')).find(({ reason }) => reason === 'AnotherOperator'),
    );
    expect(event['message']).toContain(identity);
    await deploymentOf('second');
    const { metadata } = await deploymentOf('first');
    const written = await writesDuring(plane, access.username, () => sleep(40_000));
    expect(written.filter((line) => line.includes(here.namespace)).length).toBeLessThan(20);
    expect((await here.get('Deployment', 'vmcp-tools'))?.metadata.generation).toBe(metadata.generation);
  });

  it('take over the objects of one that has ended', async ({ expect }) => {
    const { here, start, deploymentOf, create } = await contested();
    const first = await start('first');
    await create();
    const identity = appliedBy(await deploymentOf('first'));
    await first.stop();
    await start('second');
    const last = appliedBy(await deploymentOf('second'));
    expect(last).not.toBe(identity);
    const appliers = async () => {
      const kinds = ['ServiceAccount', 'Role', 'ConfigMap', 'Service', 'Deployment'];
      const all = (await Promise.all(kinds.map((kind) => here.list(kind)))).flat();
      return new Set(all.filter(({ metadata }) => metadata.ownerReferences?.[0]?.name === 'tools').map(appliedBy));
    };
    await expect.poll(appliers).toEqual(new Set([last]));
  });
});
