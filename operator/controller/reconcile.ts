import { ApiError } from '../../gateway/kube/client.ts';
import { ownType, type KubeObject } from '../../gateway/kube/resource.ts';
import type { RenderOptions } from '../render/index.ts';
import type { ObjectProblem, ObjectRef } from '../resolve/problems.ts';
import type { Snapshot } from '../resolve/snapshot.ts';
import { FIELD_MANAGER, type Applied, type KubeTarget, type Seen, type Writer } from '../apply/apply.ts';
import { isWorkload } from '../apply/owned.ts';
import { isOfTerminating } from '../apply/refusals.ts';
import type { WrittenObjects } from '../apply/written-objects.ts';
import type { Clock } from './clock.ts';
import type { EventNote } from './events.ts';
import { applyFailedStatus } from '../status/applied.ts';
import { sameStatus, type ObjectStatus } from '../status/index.ts';
import { failureMessage } from './failure-message.ts';
import type { Decision, KindController, Look } from './kind-controller.ts';
import type { OperatorMetrics, ReconcileResult } from './metrics.ts';
import { protectionOf } from './protection.ts';
import type { Outcome } from './queue.ts';
import { withRestart } from './restart.ts';
import type { PodsSeen, UnreadyPods } from './unready-pods.ts';
import type { Logger } from '../../gateway/contract/logger.ts';

/** Everything that a reconcile looks at. */
export interface ClusterView extends Seen {
  snapshot(namespace: string): Snapshot;
  problemsOf(ref: ObjectRef): readonly ObjectProblem[];
  referrersOf(target: ObjectRef): readonly ObjectRef[];
  /** Resolves when the snapshot holds what custom resources refer to. */
  referencesReady(namespace: string): Promise<void>;
  namespaceIsTerminating(namespace: string): boolean;
}

export interface ReconcilerOptions {
  readonly controllers: readonly KindController[];
  readonly view: ClusterView;
  readonly client: Writer;
  readonly target: KubeTarget;
  readonly written: WrittenObjects;
  readonly pods: UnreadyPods;
  /** Whether what others refer to is kept from being deleted. */
  readonly protects: boolean;
  readonly render: RenderOptions;
  readonly clock: Clock;
  readonly metrics: Pick<OperatorMetrics, 'reconciled'>;
  readonly record: (about: KubeObject, event: EventNote) => void;
  readonly log: Pick<Logger, 'warn' | 'debug'>;
}

/** Something is in the way that goes by itself. */
const WAIT_MS = 1_000;
/** Objects of others are not watched: whether a name has become free has to be asked. */
const NAME_TAKEN_MS = 3_000;
/** Failed runs in a row after which it is said. The watch may need a while to end a lost race. */
const SAY_FAILURES_AFTER = 3;
const SAY_RACES_AFTER = 10;

/**
 * Brings one custom resource to its spec: look, decide, apply, say. Level-based: `key` is all it is told. A user's
 * mistake becomes a condition and waits for the next edit; what the API server refuses becomes one too, and is tried
 * again ever more rarely. Whatever throws is tried again with backoff, and said when it persists.
 */
export function createReconciler(options: ReconcilerOptions): (key: ObjectRef, failures: number) => Promise<Outcome> {
  const { clock, metrics, log } = options;
  const controllers = new Map(options.controllers.map((controller) => [controller.kind, controller]));
  const released = new Set<string>();
  return async (key, failures) => {
    const startedAt = clock.now();
    const end = (outcome: Outcome): Outcome => {
      metrics.reconciled(key.kind, resultOf(outcome), (clock.now() - startedAt) / 1_000);
      return outcome;
    };
    try {
      const controller = controllers.get(key.kind);
      return end(controller ? await reconcile(options, controller, key, released) : {});
    } catch (error) {
      logFailure(log, key, error);
      if (failures + 1 >= (isRace(error) ? SAY_RACES_AFTER : SAY_FAILURES_AFTER)) await sayFailure(options, key, error);
      return end({ failed: true });
    }
  };
}

function resultOf({ failed = false, refused = false, requeueAfterMs }: Outcome): ReconcileResult {
  if (failed) return 'error';
  if (refused) return 'refused';
  return requeueAfterMs === undefined ? 'success' : 'requeue';
}

/** @param released uids of objects whose finalizer was taken off where nothing is protected */
async function reconcile(
  options: ReconcilerOptions,
  controller: KindController,
  key: ObjectRef,
  released: Set<string>,
): Promise<Outcome> {
  const { view, target } = options;
  const { namespace, name } = key;
  await view.referencesReady(namespace);
  const object = target.live(ownType(key.kind), namespace, name);
  if (!object) return {}; // its objects go with it
  const isGoing = view.namespaceIsTerminating(namespace);
  const referrers = view.referrersOf(key);
  const { finalizers, blockedBy } = protectionOf(object, referrers, options.protects && !isGoing);
  const { uid = '' } = object.metadata;
  // Who puts it on again is another operator, which protects: to take it off for ever would be a fight.
  const isOthers = !options.protects && released.has(uid);
  const current = finalizers && !isOthers ? await setFinalizers(options, object, finalizers) : object;
  if (finalizers && !options.protects) released.add(uid);
  if (current.metadata.deletionTimestamp !== undefined && blockedBy.length === 0) return {};
  if (isGoing) return {}; // nothing can be made in a namespace that goes, and nothing is worth being said

  const look: Look = {
    object: current,
    snapshot: view.snapshot(namespace),
    problems: view.problemsOf(key),
    referrers,
    blockedBy,
    render: options.render,
    now: timeOf(options.clock),
  };
  const decision = controller.decide(look);
  const applied = await apply(options, current, decision);
  const other = applied.problems.find(({ reason }) => reason === 'AnotherOperator');
  if (other) return leave(options, current, other, applied);
  const workload = workloadOf(options, decision, applied, namespace);
  const pods = workload ? await options.pods.of(workload) : {};
  await say(options, current, decision.say(observed(applied, workload, pods)));
  return outcomeOf(options, key, applied, pods);
}

/** In whole seconds. */
const timeOf = (clock: Clock): string => new Date(clock.now()).toISOString().replace(/\.\d+Z$/u, 'Z');

/** Writing a status that another operator writes as well would be the same fight: this is told in another way. */
function leave(
  { record, log }: ReconcilerOptions,
  object: KubeObject,
  { kind, namespace, name, reason, message }: ObjectProblem,
  { againInMs }: Applied,
): Outcome {
  record(object, { type: 'Warning', reason, message });
  log.warn('objects are left to another operator', { controller: kind, namespace, name, problem: message });
  return againInMs === undefined ? {} : { requeueAfterMs: againInMs };
}

const observed = ({ problems }: Applied, workload: KubeObject | undefined, { pods }: PodsSeen) => ({
  problems,
  ...(workload && { workload }),
  ...(pods && { pods }),
});

async function apply({ target }: ReconcilerOptions, owner: KubeObject, { objects }: Decision): Promise<Applied> {
  if (!objects) return { objects: [], problems: [], waiting: false };
  return target.apply(owner, withRestart(owner, objects));
}

function workloadOf(
  { target }: ReconcilerOptions,
  { workloads = [] }: Decision,
  applied: Applied,
  namespace: string,
): KubeObject | undefined {
  return (
    applied.objects.find(isWorkload) ??
    workloads.flatMap(({ type, name }) => target.live(type, namespace, name) ?? [])[0]
  );
}

function outcomeOf(
  { log }: ReconcilerOptions,
  key: ObjectRef,
  { problems, waiting }: Applied,
  { againInMs }: PodsSeen,
): Outcome {
  for (const { reason, message } of problems)
    log.debug('an object cannot be applied', { ...key, reason, problem: message });
  if (problems.some(({ reason }) => reason !== 'NameTaken')) return { refused: true };
  const waits = [
    ...(problems.length > 0 ? [NAME_TAKEN_MS] : []),
    ...(waiting ? [WAIT_MS] : []),
    ...(againInMs === undefined ? [] : [againInMs]),
  ];
  return waits.length > 0 ? { requeueAfterMs: Math.min(...waits) } : {};
}

async function setFinalizers(
  { client, written }: ReconcilerOptions,
  object: KubeObject,
  finalizers: readonly string[],
): Promise<KubeObject> {
  const type = ownType(object.kind);
  const { namespace = '', name, uid, resourceVersion } = object.metadata;
  // Refused as a conflict when anybody else has changed the object: others may have finalizers of their own.
  const patch = { metadata: { uid, resourceVersion, finalizers } };
  return written.write(type, object, () => client.mergePatch(type, namespace, name, patch));
}

/** Writes the status when it says something new, and tells of it. */
async function say(options: ReconcilerOptions, object: KubeObject, said: ObjectStatus): Promise<void> {
  const { client, written, record } = options;
  const { status, events } = said;
  if (sameStatus(object['status'], status)) return;
  const { namespace = '', name, uid } = object.metadata;
  const desired = {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: { namespace, name, ...(uid !== undefined && { uid }) },
    status,
  };
  const result = await written.write(ownType(object.kind), object, () =>
    client.apply(desired, { fieldManager: FIELD_MANAGER, force: true, subresource: 'status' }),
  );
  // With the edit of somebody in it: nothing may be said of that before the watch brings it to the snapshot, too.
  if (result.metadata.generation !== object.metadata.generation) written.forget(ownType(object.kind), namespace, name);
  for (const event of events) record(object, event);
}

/** Says what keeps the object from being looked at or applied; everything else that was said of it stands. */
async function sayFailure(options: ReconcilerOptions, key: ObjectRef, error: unknown): Promise<void> {
  const { view, target, clock, log } = options;
  try {
    const object = target.live(ownType(key.kind), key.namespace, key.name);
    if (!object || object.metadata.deletionTimestamp !== undefined || view.namespaceIsTerminating(key.namespace))
      return;
    await say(options, object, applyFailedStatus(object, failureMessage(error), timeOf(clock)));
  } catch (failure) {
    log.debug('what failed cannot be said', {
      ...key,
      problem: failure instanceof Error ? failure.message : String(failure),
    });
  }
}

const RACES: ReadonlySet<number> = new Set([404, 409]);

const isRace = (error: unknown): boolean =>
  error instanceof ApiError && (RACES.has(error.status) || isOfTerminating(error));

/** Losing a race is everyday; what else fails is worth a line. */
function logFailure(log: Pick<Logger, 'warn' | 'debug'>, key: ObjectRef, error: unknown): void {
  const { kind, namespace, name } = key;
  const problem = error instanceof ApiError ? error.message : error instanceof Error ? error.stack : String(error);
  const facts = { controller: kind, namespace, name, problem };
  if (isRace(error)) log.debug('reconcile will be tried again', facts);
  else log.warn('reconcile failed and will be tried again', facts);
}
