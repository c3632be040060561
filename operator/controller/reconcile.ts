import { ApiError } from '../../gateway/kube/client.ts';
import { ownType, RESOURCES, type KubeObject, type ResourceType } from '../../gateway/kube/resource.ts';
import type { RenderOptions } from '../render/index.ts';
import type { ObjectProblem, ObjectRef } from '../resolve/scope.ts';
import type { Snapshot } from '../resolve/snapshot.ts';
import { FIELD_MANAGER, type Applied, type Applier, type Seen, type Writer } from '../apply/apply.ts';
import { isWorkload } from '../apply/owned.ts';
import { isOfTerminating } from '../apply/refusals.ts';
import type { WrittenObjects } from '../apply/written-objects.ts';
import type { Clock } from '../../gateway/kit/time.ts';
import type { EventNote } from './events.ts';
import { applyFailedStatus } from '../status/applied.ts';
import { sameStatus, type ObjectStatus } from '../status/index.ts';
import { failureMessage } from './failure-message.ts';
import type { Decision, KindController, Observed, ReconcileInput } from './kinds.ts';
import type { OperatorMetrics, ReconcileResult } from './metrics.ts';
import { protectionOf } from './protection.ts';
import type { Outcome } from './queue.ts';
import { withRestart } from './restart.ts';
import type { Logger } from '../../gateway/contract/logger.ts';
import type { PodsRead, UnreadyPods } from './unready-pods.ts';

/** Observed state that a reconcile reads. */
export interface ClusterView extends Seen {
  snapshot(namespace: string): Snapshot;
  problemsOf(ref: ObjectRef): readonly ObjectProblem[];
  referrersOf(target: ObjectRef): readonly ObjectRef[];
  /** Resolves when the snapshot contains the Secrets and ConfigMaps that custom resources refer to. */
  referencesReady(namespace: string): Promise<void>;
  namespaceIsTerminating(namespace: string): boolean;
  /** Returns false while the API server lacks an optional kind. */
  serves(type: ResourceType, namespace: string): boolean;
}

export interface ReconcilerOptions {
  readonly controllers: readonly KindController[];
  readonly view: ClusterView;
  readonly client: Writer;
  readonly target: Applier;
  readonly written: WrittenObjects;
  readonly pods: UnreadyPods;
  /** True when a finalizer protects objects that others refer to. */
  readonly protects: boolean;
  readonly render: RenderOptions;
  readonly clock: Clock;
  readonly metrics: Pick<OperatorMetrics, 'reconciled'>;
  readonly record: (about: KubeObject, event: EventNote) => void;
  readonly log: Pick<Logger, 'warn' | 'debug'>;
}

/** Delay before a retry when an obstacle disappears by itself. */
const WAIT_MS = 1_000;
/** Delay before a retry when an object of another owner has the name. Such objects are not watched. */
const NAME_TAKEN_MS = 3_000;
/** Consecutive failures after which the status reports the failure. Conflicts get more, because the watch may lag. */
const REPORT_FAILURES_AFTER = 3;
const REPORT_CONFLICTS_AFTER = 10;

/**
 * Reconciles one custom resource: reads it, decides, applies the objects and writes the status. Level-based: the key is
 * the only input. A mistake of the user becomes a condition until the next edit. A rejection by the API server becomes
 * a condition and is retried with a long backoff. Exceptions are retried with backoff and reported when they persist.
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
      if (failures + 1 >= (isConflict(error) ? REPORT_CONFLICTS_AFTER : REPORT_FAILURES_AFTER))
        await writeFailure(options, key, error);
      return end({ failed: true });
    }
  };
}

function resultOf({ failed = false, refused = false, requeueAfterMs }: Outcome): ReconcileResult {
  if (failed) return 'error';
  if (refused) return 'refused';
  return requeueAfterMs === undefined ? 'success' : 'requeue';
}

/** @param released uids of objects whose finalizer this operator removed because it does not protect objects */
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
  if (!object) return {}; // Kubernetes deletes the objects that it owns
  const isTerminating = view.namespaceIsTerminating(namespace);
  const referrers = view.referrersOf(key);
  const { finalizers, blockedBy } = protectionOf(object, referrers, options.protects && !isTerminating);
  const { uid = '' } = object.metadata;
  // Another operator that protects objects may add the finalizer again. Removing it again and again would be a fight.
  const isHeldByOther = !options.protects && released.has(uid);
  const current = finalizers && !isHeldByOther ? await setFinalizers(options, object, finalizers) : object;
  if (finalizers && !options.protects) released.add(uid);
  const isGoing = current.metadata.deletionTimestamp !== undefined && blockedBy.length === 0;
  if (isGoing && !(controller.reportsDeletion && isHeldUp(current))) return {};
  if (isTerminating) return {}; // objects cannot be created in a terminating namespace, and the status no longer matters

  const input: ReconcileInput = {
    object: current,
    snapshot: view.snapshot(namespace),
    problems: view.problemsOf(key),
    referrers,
    blockedBy,
    render: options.render,
    servesRoutes: view.serves(RESOURCES.HTTPRoute, namespace),
    now: timeOf(options.clock),
  };
  const decision = controller.decide(input);
  const applied = isGoing ? NOTHING : await apply(options, current, decision);
  const other = applied.problems.find(({ reason }) => reason === 'AnotherOperator');
  if (other) return leaveToOther(options, current, other, applied);
  const workload = workloadOf(options, decision, applied, namespace);
  const pods = workload && !isGoing ? await options.pods.of(workload) : {};
  await writeStatus(
    options,
    current,
    decision.statusOf({ ...observed(applied, workload, pods), ...routeOf(options, decision, applied, namespace) }),
  );
  return outcomeOf(options, key, applied, pods);
}

const NOTHING: Applied = { objects: [], problems: [], waiting: false };

/** Returns true while finalizers of others, such as that of a foreground deletion, keep an object. */
const isHeldUp = ({ metadata: { finalizers = [] } }: KubeObject): boolean => finalizers.length > 0;

/** Returns the time in RFC 3339 with whole seconds. */
const timeOf = (clock: Clock): string => new Date(clock.now()).toISOString().replace(/\.\d+Z$/u, 'Z');

/** Records an event and a log line, but no status: another operator writes the status, and the two would fight over it. */
function leaveToOther(
  { record, log }: ReconcilerOptions,
  object: KubeObject,
  { kind, namespace, name, reason, message }: ObjectProblem,
  { againInMs }: Applied,
): Outcome {
  record(object, { type: 'Warning', reason, message });
  log.warn('another operator manages these objects', { controller: kind, namespace, name, problem: message });
  return againInMs === undefined ? {} : { requeueAfterMs: againInMs };
}

const observed = ({ problems, scaledBack }: Applied, workload: KubeObject | undefined, { pods }: PodsRead) => ({
  problems,
  ...(scaledBack === true && { scaledBack }),
  ...(workload && { workload }),
  ...(pods && { pods }),
});

async function apply({ target }: ReconcilerOptions, owner: KubeObject, { objects }: Decision): Promise<Applied> {
  if (!objects) return NOTHING;
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

function routeOf(
  { target }: ReconcilerOptions,
  { route: name }: Decision,
  { objects }: Applied,
  namespace: string,
): Pick<Observed, 'route'> {
  const { HTTPRoute } = RESOURCES;
  const applied = objects.find(({ kind }) => kind === HTTPRoute.kind);
  const route = applied ?? (name === undefined ? undefined : target.live(HTTPRoute, namespace, name));
  return route ? { route } : {};
}

function outcomeOf(
  { log }: ReconcilerOptions,
  key: ObjectRef,
  { problems, waiting }: Applied,
  { retryInMs }: PodsRead,
): Outcome {
  for (const { reason, message } of problems)
    log.debug('object cannot be applied', { ...key, reason, problem: message });
  if (problems.some(({ reason }) => reason !== 'NameTaken')) return { refused: true };
  const waits = [
    ...(problems.length > 0 ? [NAME_TAKEN_MS] : []),
    ...(waiting ? [WAIT_MS] : []),
    ...(retryInMs === undefined ? [] : [retryInMs]),
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
  // Fails with a conflict when the object has changed: other controllers may have added finalizers.
  const patch = { metadata: { uid, resourceVersion, finalizers } };
  return written.write(type, object, () => client.mergePatch(type, namespace, name, patch));
}

/** Writes the status and its events if the status has changed. */
async function writeStatus(
  options: ReconcilerOptions,
  object: KubeObject,
  { status, events }: ObjectStatus,
): Promise<void> {
  const { client, written, record } = options;
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
  // The response contains a newer spec. Forget it, so that no status is written for it before the snapshot has it.
  if (result.metadata.generation !== object.metadata.generation) written.forget(ownType(object.kind), namespace, name);
  for (const event of events) record(object, event);
}

/** Writes a condition about a failed reconcile. The other conditions stay unchanged. */
async function writeFailure(options: ReconcilerOptions, key: ObjectRef, error: unknown): Promise<void> {
  const { view, target, clock, log } = options;
  try {
    const object = target.live(ownType(key.kind), key.namespace, key.name);
    if (!object || object.metadata.deletionTimestamp !== undefined || view.namespaceIsTerminating(key.namespace))
      return;
    await writeStatus(options, object, applyFailedStatus(object, failureMessage(error), timeOf(clock)));
  } catch (failure) {
    log.debug('failure not written to the status', {
      ...key,
      problem: failure instanceof Error ? failure.message : String(failure),
    });
  }
}

const CONFLICTS: ReadonlySet<number> = new Set([404, 409]);

const isConflict = (error: unknown): boolean =>
  error instanceof ApiError && (CONFLICTS.has(error.status) || isOfTerminating(error));

/** Logs a failed reconcile: conflicts at debug level, because they are normal, and other errors as warnings. */
function logFailure(log: Pick<Logger, 'warn' | 'debug'>, key: ObjectRef, error: unknown): void {
  const { kind, namespace, name } = key;
  const problem = error instanceof ApiError ? error.message : error instanceof Error ? error.stack : String(error);
  const facts = { controller: kind, namespace, name, problem };
  if (isConflict(error)) log.debug('reconcile will be retried', facts);
  else log.warn('reconcile failed and will be retried', facts);
}
