import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, it } from 'vitest';
import { StatusReporter } from '../../../gateway/cluster/status-reporter.ts';
import { KubeClient } from '../../../gateway/kube/client.ts';
import { afterTimeout } from '../../../gateway/kit/time.ts';
import type { StatusReport } from '../../../gateway/vmcp/status.ts';
import { adminApi, startControlPlane, type ControlPlane } from '../../harness/control-plane/control-plane.ts';
import { eventually } from '../../harness/poll.ts';
import { blockScope, testScope } from '../../harness/scope.ts';
import { auditMark, auditSince, writesOf } from '../audit.ts';
import { PodPlace } from './gateway-pod.ts';
import { placeOf } from '../playground.ts';

const INTERVAL_MS = 500;
const LONGEST_BEFORE_COMPARING_MS = 6 * INTERVAL_MS;
const scope = blockScope();
let plane: ControlPlane;
let pods: PodPlace;
let namespaces = 0;
beforeAll(async () => {
  plane = await startControlPlane(scope);
});

async function place(): Promise<PodPlace> {
  const api = await adminApi(testScope(), plane);
  pods = await PodPlace.make(testScope(), api, plane, `status-${String((namespaces += 1))}`);
  return pods;
}

const seen = (status: 'ready' | 'unavailable'): StatusReport => ({
  discoveredBackends: [{ name: 'b', url: 'http://b/mcp', status }] as unknown as StatusReport['discoveredBackends'],
  backendCount: status === 'ready' ? 1 : 0,
  runtimeProblems: [],
});

/** Starts the status reporter of one pod with the view `report()`. */
function reporter(pod: PodPlace, report: () => StatusReport): StatusReporter {
  const client = new KubeClient(pod.connection());
  const quiet = () => undefined;
  const started = new StatusReporter({
    client,
    namespace: pod.namespace,
    name: 'desk',
    intervalMs: INTERVAL_MS,
    report,
    isProbed: () => true,
    isWell: () => true,
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    now: () => performance.now(),
    random: Math.random,
    after: afterTimeout,
  });
  started.start();
  testScope().defer(async () => {
    await started.close();
    await client.close();
  });
  return started;
}

/** Sends a write with an old resource version. */
async function late(pod: PodPlace, { name, resourceVersion }: { name: string; resourceVersion: string }) {
  const client = new KubeClient(pod.connection());
  testScope().defer(() => client.close());
  const { apiVersion, kind } = await pod.reported();
  return client.apply(
    { apiVersion, kind, metadata: { name, namespace: pod.namespace, resourceVersion }, status: { backendCount: 9 } },
    { fieldManager: 'vmcp-gateway', force: true, subresource: 'status' },
  );
}

const becomes = (pod: PodPlace, count: number | undefined, timeoutMs = 10_000) =>
  eventually(`backendCount is ${String(count)}`, async () => (await pod.reported()).status?.backendCount === count, {
    timeoutMs,
  });

it('a pod corrects the status when another pod with a different view has ended', async () => {
  const pod = await place();
  reporter(pod, () => seen('ready'));
  await becomes(pod, 1);
  const other = reporter(pod, () => seen('unavailable'));
  await becomes(pod, 0);
  await other.close();
  await becomes(pod, 1, LONGEST_BEFORE_COMPARING_MS + 5_000);
});

it('two pods with different views write at most as often as they compare', async () => {
  const pod = await place();
  const mark = await auditMark(plane);
  reporter(pod, () => seen('ready'));
  reporter(pod, () => seen('unavailable'));
  const start = performance.now();
  await sleep(8_000);
  const lasts = performance.now() - start;
  const writes = writesOf(await auditSince(plane, mark), pod.username);
  expect(writes.length).toBeGreaterThan(2);
  expect(writes.length).toBeLessThanOrEqual(2 * (1 + lasts / (4 * INTERVAL_MS)));
});

it('a pod writes nothing to a new object with the name of its deleted object', async () => {
  const pod = await place();
  let view: 'ready' | 'unavailable' = 'ready';
  reporter(pod, () => seen(view));
  await becomes(pod, 1);
  const { apiVersion, kind, metadata, ...old } = await pod.reported();
  await expect(late(pod, { name: metadata.name, resourceVersion: '1' })).rejects.toMatchObject({ status: 409 });
  const { name, namespace } = metadata;
  await pod.api.remove(placeOf('VirtualMCPServer', pod.namespace, name));
  await pod.api.create({ apiVersion, kind, metadata: { name, namespace }, spec: old['spec'] } as never);
  const mark = await auditMark(plane);
  view = 'unavailable';
  await sleep(LONGEST_BEFORE_COMPARING_MS);
  const writes = writesOf(await auditSince(plane, mark), pod.username);
  expect(writes).toEqual([]);
  expect((await pod.reported()).status).toEqual({ observedGeneration: -1, phase: 'Pending' }); // defaults
  reporter(pod, () => seen('ready'));
  await becomes(pod, 1);
});
