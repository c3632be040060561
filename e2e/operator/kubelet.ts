import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../harness/poll.ts';
import type { Scope } from '../harness/scope.ts';
import { conditionsOf, type Playground } from './playground.ts';

/** Reports every pod of the namespace as running and ready, as the kubelet of a node would: no node is there. */
async function reportReady(playground: Playground): Promise<void> {
  const pods = await playground.list('Pod');
  for (const pod of pods) {
    if (conditionsOf(pod).some(({ type, status }) => type === 'Ready' && status === 'True')) continue;
    const now = new Date().toISOString();
    const conditions = ['Ready', 'ContainersReady', 'PodScheduled', 'Initialized'].map((type) => ({
      type,
      status: 'True',
      lastTransitionTime: now,
    }));
    // A pod that has been replaced meanwhile is nobody's loss.
    await playground
      .patch('Pod', pod.metadata.name, { status: { phase: 'Running', conditions, containerStatuses: null } }, 'status')
      .catch(() => undefined);
  }
}

/** From now on every pod of the namespace becomes ready at once. */
export function runPods(scope: Scope, playground: Playground): { stop(): Promise<void> } {
  const stopped = new AbortController();
  const loop = (async () => {
    while (!stopped.signal.aborted) {
      // An API server that is busy or away is asked again.
      await reportReady(playground).catch(() => undefined);
      await sleep(100);
    }
  })();
  const stop = async (): Promise<void> => {
    stopped.abort();
    await loop;
  };
  scope.defer(stop);
  return { stop };
}

/** Reports that the containers of every pod of the namespace are in this state. */
export async function reportPods(playground: Playground, state: Readonly<Record<string, unknown>>): Promise<void> {
  const pods = await eventually('there are pods', async () => {
    const found = await playground.list('Pod');
    return found.length > 0 && found;
  });
  for (const pod of pods) {
    const { containers } = pod['spec'] as { containers: { name: string; image: string }[] };
    const containerStatuses = containers.map(({ name, image }) => ({
      name,
      image,
      imageID: '',
      ready: false,
      restartCount: 0,
      state,
    }));
    await playground.patch('Pod', pod.metadata.name, { status: { containerStatuses } }, 'status');
  }
}

/** Takes the readiness of every pod of the namespace away. */
export async function failPods(playground: Playground): Promise<void> {
  for (const { metadata } of await playground.list('Pod'))
    await playground.patch(
      'Pod',
      metadata.name,
      { status: { conditions: [{ type: 'Ready', status: 'False' }] } },
      'status',
    );
}
