import { describe, expect, it } from 'vitest';
import type { KubeObject, ResourceType } from '../../gateway/kube/resource.ts';
import { ManualClock } from './testdata/manual-clock.ts';
import { isUp, UnreadyPods } from './unready-pods.ts';

const deployment = (status: object, { generation = 2, replicas = 2 } = {}): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { namespace: 'team', name: 'mcp-x', uid: 'd1', generation },
  spec: { replicas, selector: { matchLabels: { app: 'x', tier: 'y' } } },
  status,
});
const up = deployment({ observedGeneration: 2, updatedReplicas: 2, readyReplicas: 2 });
const pending = deployment({ observedGeneration: 2, updatedReplicas: 2, unavailableReplicas: 2 });

describe('isUp', () => {
  it.each([
    ['all pods are ready', up, true],
    ['none is', pending, false],
    [
      'the controller has not observed the change',
      deployment({ observedGeneration: 1, updatedReplicas: 2, readyReplicas: 2 }),
      false,
    ],
    [
      'old pods are ready, new ones are not',
      deployment({ observedGeneration: 2, updatedReplicas: 1, readyReplicas: 2 }),
      false,
    ],
    [
      'a surplus pod is not ready',
      deployment({ observedGeneration: 2, updatedReplicas: 2, readyReplicas: 2, unavailableReplicas: 1 }),
      false,
    ],
    ['none is wanted', deployment({ observedGeneration: 2 }, { replicas: 0 }), true],
    ['nothing is said', deployment({}), false],
  ])('%s', (_, workload, expected) => {
    expect(isUp(workload)).toBe(expected);
  });
});

describe('UnreadyPods', () => {
  function setUp() {
    const clock = new ManualClock();
    const asked: object[] = [];
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' } } as KubeObject;
    const list = (_type: ResourceType, options: object) => {
      asked.push(options);
      return Promise.resolve({ items: [pod] });
    };
    return { clock, asked, pod, pods: new UnreadyPods({ list }, () => clock.now()) };
  }

  it('reads no pods of a ready workload, and waits 10 s for others', async () => {
    const { clock, asked, pod, pods } = setUp();
    expect(await pods.of(up)).toEqual({});
    expect(await pods.of(pending)).toEqual({ retryInMs: 10_000 });
    clock.advance(9_999);
    expect(await pods.of(pending)).toEqual({ retryInMs: 1 });
    expect(asked).toEqual([]);
    clock.advance(1);
    expect(await pods.of(pending)).toEqual({ retryInMs: 10_000, pods: [pod] });
    expect(asked).toEqual([{ namespace: 'team', labelSelector: 'app=x,tier=y', limit: 50 }]);
  });

  it('reads the pods of many workloads one after the other', async () => {
    const { clock, asked, pods } = setUp();
    const many = Array.from({ length: 5 }, (_, index): KubeObject => {
      return { ...pending, metadata: { ...pending.metadata, uid: `d${String(index)}` } };
    });
    const look = async () => (await Promise.all(many.map((each) => pods.of(each)))).map(({ retryInMs }) => retryInMs);
    await look();
    clock.advance(10_000);
    expect(await look()).toEqual([10_000, 200, 400, 600, 800]);
    expect(asked).toHaveLength(1);
    clock.advance(500);
    expect(await look()).toEqual([9_500, 10_000, 10_000, 100, 300]);
    clock.advance(300);
    expect(await look()).toEqual([9_200, 9_700, 9_700, 10_000, 10_000]);
    expect(asked).toHaveLength(5);
  });

  it('reads at growing intervals of up to 5 min, and keeps the result', async () => {
    const { clock, asked, pod, pods } = setUp();
    await pods.of(pending);
    const waits: (number | undefined)[] = [];
    for (let i = 0, wait = 10_000; i < 7; i += 1) {
      clock.advance(wait);
      const { retryInMs } = await pods.of(pending);
      waits.push(retryInMs);
      wait = retryInMs ?? 0;
    }
    expect(waits).toEqual([10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]);
    expect((await pods.of(pending)).pods).toEqual([pod]);
    expect(asked).toHaveLength(7);
  });

  it('starts again after a change of the workload, and after it was ready', async () => {
    const { clock, pods } = setUp();
    await pods.of(pending);
    clock.advance(10_000);
    await pods.of(pending);
    expect(await pods.of(deployment({}, { generation: 3 }))).toEqual({ retryInMs: 10_000 });
    await pods.of(up);
    expect(await pods.of(pending)).toEqual({ retryInMs: 10_000 });
  });
});
