/**
 * `node e2e/bench/operator.ts --count 300`: COUNT x 5 custom resources on etcd, kube-apiserver and kube-controller-manager.
 * How many a second are applied and observed, from the first create to the last; the memory of the operator; what it
 * writes in `--rest` seconds afterwards; and how fast the same requests are when nobody watches or decides, on a control
 * plane of their own. Each controller sends as many requests a second as in a cluster, or `--controller-qps`. Prints
 * progress to stderr and one line of JSON to stdout. Exit code 1: a target is missed.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { ClusterApi, KubeManifest } from '../harness/control-plane-api.ts';
import { eventually } from '../harness/poll.ts';
import { ownControlPlane, type OperatorAccess } from '../operator/access.ts';
import { startOperator, type Operator } from '../operator/operator-process.ts';
import { at, placeOf } from '../operator/playground.ts';
import { writesDuring } from '../operator/steady-state.ts';
import { unitOf } from './operator-resources.ts';
import { recordedWrites, writeBarely } from './bare-writer.ts';
import { usage } from './usage.ts';

const UNITS_PER_NAMESPACE = 50;
const CREATES_AT_ONCE = 16;
/** Per unit: what a VirtualMCPServer and an MCPServer own. */
const OWNED = { Deployment: 2, Service: 2, ServiceAccount: 2, Role: 1, RoleBinding: 1, ConfigMap: 3 } as const;
const TARGETS = { perSecond: 50, rssMb: 300, writes: 0 };

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '300' },
    rest: { type: 'string', default: '60' },
    'controller-qps': { type: 'string', default: '20' },
  },
});
const [count, rest, controllerQps] = [Number(values.count), Number(values.rest), Number(values['controller-qps'])];
if (!(count > 0 && rest > 0 && controllerQps > 0)) {
  process.stderr.write('--count, --rest and --controller-qps take a number above 0\n');
  process.exit(2);
}
const say = (text: string): void => void process.stderr.write(`${text}\n`);

const stops: (() => unknown)[] = [];
const scope = { defer: (stop: () => unknown) => void stops.push(stop) };
async function stopAll(): Promise<void> {
  for (const stop of stops.splice(0).reverse()) await stop();
}
async function end(code: number): Promise<never> {
  await stopAll();
  process.exit(code);
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void end(1));

/** Creates everything, some requests at a time, and says after how many ms the last was accepted. */
async function createAll(api: ClusterApi, manifests: readonly KubeManifest[]): Promise<number> {
  const start = performance.now();
  const queue = manifests[Symbol.iterator]();
  await Promise.all(
    Array.from({ length: CREATES_AT_ONCE }, async () => {
      for (const manifest of queue) await api.create(manifest);
    }),
  );
  return performance.now() - start;
}

/** How many objects of a kind there are, without reading them. */
async function total(api: ClusterApi, kind: string): Promise<number> {
  const group = placeOf(kind).apiVersion;
  const base = group.includes('/') ? `/apis/${group}` : `/api/${group}`;
  const { body } = await api.send('GET', `${base}/${kind.toLowerCase()}s?limit=1`);
  const { items, metadata } = body as { items: unknown[]; metadata: { remainingItemCount?: number } };
  return items.length + (metadata.remainingItemCount ?? 0);
}

/** What there is before the first create is not the operator's. */
async function ownedAreThere(api: ClusterApi, before: Readonly<Record<string, number>>): Promise<boolean> {
  for (const [kind, each] of Object.entries(OWNED))
    if ((await total(api, kind)) < (before[kind] ?? 0) + each * count) return false;
  return true;
}

async function allObserved(api: ClusterApi, kinds: readonly string[]): Promise<boolean> {
  for (const kind of kinds) {
    const objects = await api.list(placeOf(kind));
    if (objects.some((object) => at(object, 'status.observedGeneration') !== object.metadata.generation)) return false;
  }
  return true;
}

const namespaceOf = (index: number): string => `load-${String(Math.floor(index / UNITS_PER_NAMESPACE))}`;
const manifests = Array.from({ length: count }, (_, index) => unitOf(index, namespaceOf(index))).flat();

async function createNamespaces(api: ClusterApi): Promise<void> {
  for (const name of new Set(manifests.map(({ metadata }) => metadata.namespace ?? '')))
    await api.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  await sleep(2_000);
}

async function measure(
  api: ClusterApi,
  access: OperatorAccess,
  operator: Operator,
  plane: Parameters<typeof writesDuring>[0],
) {
  const before: Record<string, number> = {};
  await createNamespaces(api);
  for (const kind of Object.keys(OWNED)) before[kind] = await total(api, kind);
  const start = performance.now();
  say(`${String(manifests.length)} custom resources`);
  say(`created in ${((await createAll(api, manifests)) / 1_000).toFixed(1)} s`);
  const patience = { timeoutMs: 600_000, intervalMs: 1_000 };
  await eventually('all owned objects are there', () => ownedAreThere(api, before), patience);
  const kinds = [...new Set(manifests.map(({ kind }) => kind))];
  await eventually('everything is observed', () => allObserved(api, kinds), patience);
  const seconds = (performance.now() - start) / 1_000;
  const busy = usage(operator.pid);
  say(`applied and observed after ${seconds.toFixed(1)} s; RSS ${busy?.rssMb.toFixed(0) ?? '-'} MB`);
  // The controllers are not done with their pods yet, and their Deployments' status reaches ours.
  await untilQuiet(access, plane);
  const writes = await writesDuring(plane, access.username, () => sleep(rest * 1_000));
  for (const line of writes.slice(0, 5)) say(line);
  return {
    customResources: manifests.length,
    controllerQps,
    seconds,
    perSecond: manifests.length / seconds,
    cpuSeconds: busy?.cpuSeconds ?? null,
    rssMb: Math.max(busy?.rssMb ?? 0, usage(operator.pid)?.rssMb ?? 0),
    writesAtRest: writes.length,
  };
}

async function untilQuiet(access: OperatorAccess, plane: Parameters<typeof writesDuring>[0]): Promise<void> {
  const start = performance.now();
  const isQuiet = async () => (await writesDuring(plane, access.username, () => sleep(5_000))).length === 0;
  await eventually('the operator has nothing to write', isQuiet, { timeoutMs: 600_000 });
  say(`quiet after ${((performance.now() - start) / 1_000).toFixed(0)} s more`);
}

async function withOperator() {
  const { plane, api, access } = await ownControlPlane(scope, { controllerQps });
  const operator = await startOperator(scope, plane, access, { env: { NETWORK_POLICIES: 'false' } });
  say(`operator at rest: RSS ${usage(operator.pid)?.rssMb.toFixed(0) ?? '-'} MB`);
  const result = await measure(api, access, operator, plane);
  const writes = await recordedWrites(plane, access.username);
  await stopAll();
  return { result, writes };
}

async function withoutOperator(writes: Awaited<ReturnType<typeof recordedWrites>>): Promise<number> {
  const { plane, api, access } = await ownControlPlane(scope, { controllerQps });
  await createNamespaces(api);
  const seconds = await writeBarely(plane, access, () => createAll(api, manifests), writes);
  say(`the same ${String(writes.length)} requests, and no operator: ${seconds.toFixed(1)} s`);
  await stopAll();
  return seconds;
}

try {
  const { result, writes } = await withOperator();
  const bareSeconds = await withoutOperator(writes);
  const ratio = bareSeconds / result.seconds;
  process.stdout.write(`${JSON.stringify({ ...result, barePerSecond: manifests.length / bareSeconds, ratio })}\n`);
  const isMet =
    result.perSecond >= TARGETS.perSecond && result.rssMb <= TARGETS.rssMb && result.writesAtRest === TARGETS.writes;
  await end(isMet ? 0 : 1);
} catch (error) {
  say(error instanceof Error ? (error.stack ?? error.message) : String(error));
  await end(1);
}
