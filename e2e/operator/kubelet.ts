import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../harness/poll.ts';
import type { Scope } from '../harness/scope.ts';
import { conditionsOf, type Playground } from './playground.ts';

/** Reports every pod of the namespace as running and ready, like a kubelet: the control plane has no nodes. */
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
    // The pod may have been replaced in the meantime.
    await playground
      .patch('Pod', pod.metadata.name, { status: { phase: 'Running', conditions, containerStatuses: null } }, 'status')
      .catch(() => undefined);
  }
}

/** Makes every pod of the namespace ready as soon as it exists, until `stop`. */
export function runPods(scope: Scope, playground: Playground): { stop(): Promise<void> } {
  const stopped = new AbortController();
  const loop = (async () => {
    while (!stopped.signal.aborted) {
      // Retries when the API server is overloaded or stopped.
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

/** Sets the state of the containers of every pod of the namespace. */
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

/** Makes every pod of the namespace unready. */
export async function failPods(playground: Playground): Promise<void> {
  for (const { metadata } of await playground.list('Pod'))
    await playground.patch(
      'Pod',
      metadata.name,
      { status: { conditions: [{ type: 'Ready', status: 'False' }] } },
      'status',
    );
}
