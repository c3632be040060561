/**
 * `node e2e/bench/operator/main.ts --count 300 --rounds 7`: COUNT x 5 custom resources on etcd, kube-apiserver and
 * kube-controller-manager. Each round measures the operator and a bare writer, each on its own control plane; the writer
 * sends the required end state only. Prints for each round the time from the first create until everything is
 * applied and observed, the ratio of the two, the memory of the operator and its writes; after the last round its writes
 * in `--rest` seconds at rest. The other controllers send as many requests per second as in a cluster, or
 * `--controller-qps`. Progress goes to stderr, one line of JSON to stdout. Exit code 1: a target is missed.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { ClusterApi, KubeManifest } from '../../harness/control-plane/api.ts';
import { eventually } from '../../harness/poll.ts';
import { ownControlPlane, type OperatorAccess } from '../../operator/access.ts';
import { startOperator, type Operator } from '../../operator/operator-process.ts';
import { at, placeOf } from '../../operator/playground.ts';
import { writesDuring } from '../../operator/steady-state.ts';
import { unitOf } from './resources.ts';
import { identityOf, recordedWrites, writeBarely, type Write } from './bare-writer.ts';
import { median } from '../statistics.ts';
import { usage } from '../usage.ts';

const UNITS_PER_NAMESPACE = 50;
const CREATES_AT_ONCE = 16;
/** Objects per unit: those of a VirtualMCPServer and an MCPServer. */
const OWNED = { Deployment: 2, Service: 2, ServiceAccount: 2, Role: 1, RoleBinding: 1, ConfigMap: 3 } as const;
/** Writes per unit: every object, every status, and the finalizers of the two kinds in use. */
const END_STATE = 11 + 5 + 2;
const TARGETS = { ratio: 0.7, rssMb: 300, writes: 0 };

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '300' },
    rest: { type: 'string', default: '60' },
    rounds: { type: 'string', default: '1' },
    'controller-qps': { type: 'string', default: '20' },
  },
});
const [count, rest, rounds] = [Number(values.count), Number(values.rest), Number(values.rounds)];
const controllerQps = Number(values['controller-qps']);
if (!(count > 0 && rest > 0 && rounds > 0 && controllerQps > 0)) {
  process.stderr.write('--count, --rest, --rounds and --controller-qps take a number above 0\n');
  process.exit(2);
}
const log = (text: string): void => void process.stderr.write(`${text}\n`);

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

/** Creates all resources, some at a time, and returns their uids by identity. */
async function createAll(api: ClusterApi, manifests: readonly KubeManifest[]): Promise<Map<string, string>> {
  const uids = new Map<string, string>();
  const queue = manifests[Symbol.iterator]();
  await Promise.all(
    Array.from({ length: CREATES_AT_ONCE }, async () => {
      for (const manifest of queue) {
        const { kind, metadata } = await api.create(manifest);
        uids.set(identityOf(kind, metadata.namespace, metadata.name), metadata.uid ?? '');
      }
    }),
  );
  return uids;
}

/** Returns the number of objects of a kind without reading them. */
async function total(api: ClusterApi, kind: string): Promise<number> {
  const group = placeOf(kind).apiVersion;
  const base = group.includes('/') ? `/apis/${group}` : `/api/${group}`;
  const { body } = await api.send('GET', `${base}/${kind.toLowerCase()}s?limit=1`);
  const { items, metadata } = body as { items: unknown[]; metadata: { remainingItemCount?: number } };
  return items.length + (metadata.remainingItemCount ?? 0);
}

/** Returns true when all owned objects exist; `before` counts the objects of others. */
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
  const start = Date.now();
  await createAll(api, manifests);
  log(`${String(manifests.length)} custom resources created in ${((Date.now() - start) / 1_000).toFixed(1)} s`);
  const patience = { timeoutMs: 600_000, intervalMs: 1_000 };
  await eventually('all owned objects are there', () => ownedAreThere(api, before), patience);
  const kinds = [...new Set(manifests.map(({ kind }) => kind))];
  await eventually('everything is observed', () => allObserved(api, kinds), patience);
  const busy = usage(operator.pid);
  const { reachedAt, writes } = await recordedWrites(plane, access.username);
  const seconds = (reachedAt - start) / 1_000;
  log(`applied and observed after ${seconds.toFixed(1)} s; RSS ${busy?.rssMb.toFixed(0) ?? '-'} MB`);
  // The controllers still create pods, and the status of their Deployments changes ours.
  await untilQuiet(access, plane);
  return { seconds, writes, cpuSeconds: busy?.cpuSeconds ?? null };
}

async function untilQuiet(access: OperatorAccess, plane: Parameters<typeof writesDuring>[0]): Promise<void> {
  const start = performance.now();
  const isQuiet = async () => (await writesDuring(plane, access.username, () => sleep(5_000))).length === 0;
  await eventually('the operator has nothing to write', isQuiet, { timeoutMs: 600_000 });
  log(`quiet after ${((performance.now() - start) / 1_000).toFixed(0)} s more`);
}

async function withOperator(isLast: boolean) {
  const { plane, api, access } = await ownControlPlane(scope, { controllerQps });
  const operator = await startOperator(scope, plane, access, { env: { NETWORK_POLICIES: 'false' } });
  const result = await measure(api, access, operator, plane);
  const atRest = isLast ? await writesDuring(plane, access.username, () => sleep(rest * 1_000)) : [];
  for (const line of atRest.slice(0, 5)) log(line);
  const { endState } = await recordedWrites(plane, access.username);
  if (endState.length !== END_STATE * count) {
    throw new Error(`the end state has ${String(endState.length)} parts, not ${String(END_STATE * count)}`);
  }
  const rssMb = usage(operator.pid)?.rssMb ?? Infinity;
  await stopAll();
  return { ...result, rssMb, writesAtRest: atRest.length, endState };
}

async function withoutOperator(endState: readonly Write[]): Promise<number> {
  const { plane, api, access } = await ownControlPlane(scope, { controllerQps });
  await createNamespaces(api);
  const seconds = await writeBarely(plane, access, () => createAll(api, manifests), endState);
  log(`the same end state without an operator: ${seconds.toFixed(1)} s`);
  await stopAll();
  return seconds;
}

async function round(index: number) {
  const { endState, ...result } = await withOperator(index === rounds - 1);
  const bareSeconds = await withoutOperator(endState);
  const ratio = bareSeconds / result.seconds;
  log(`round ${String(index + 1)} of ${String(rounds)}: ${ratio.toFixed(2)} of a bare writer`);
  return { ...result, bareSeconds, ratio };
}

try {
  const results: Awaited<ReturnType<typeof round>>[] = [];
  for (let index = 0; index < rounds; index += 1) results.push(await round(index));
  const ratio = median(results.map((each) => each.ratio));
  const rssMb = Math.max(...results.map((each) => each.rssMb));
  const writesAtRest = results.at(-1)?.writesAtRest ?? Infinity;
  log(`median of ${String(rounds)}: ${ratio.toFixed(2)} of a bare writer, goal ${String(TARGETS.ratio)}`);
  const summary = { customResources: manifests.length, controllerQps, ratio, rssMb, writesAtRest, rounds: results };
  process.stdout.write(`${JSON.stringify(summary)}\n`);
  const isMet = ratio >= TARGETS.ratio && rssMb <= TARGETS.rssMb && writesAtRest === TARGETS.writes;
  await end(isMet ? 0 : 1);
} catch (error) {
  log(error instanceof Error ? (error.stack ?? error.message) : String(error));
  await end(1);
}
