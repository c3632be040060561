import { hasWorkload, isOwnKind } from '../../crds/kinds/roles.ts';
import { ApiError, type KubeClient } from '../../gateway/kube/client.ts';
import { objectKey, type KubeObject, type ResourceType } from '../../gateway/kube/resource.ts';
import type { RenderOptions } from '../render/index.ts';
import { Applier, type Writer } from '../apply/apply.ts';
import { WrittenObjects } from '../apply/written-objects.ts';
import { affected, type Change, type Lookups } from './affected.ts';
import type { Clock } from '../../gateway/kit/time.ts';
import { EventRecorder } from './events.ts';
import type { KindController } from './kinds.ts';
import { createMetrics, type OperatorMetrics } from './metrics.ts';
import { WorkQueue, type QueueHooks } from './queue.ts';
import { createReconciler, type ClusterView } from './reconcile.ts';
import { UnreadyPods } from './unready-pods.ts';
import type { Logger } from '../../gateway/contract/logger.ts';

export interface ControllerOptions {
  readonly controllers: readonly KindController[];
  readonly view: ClusterView & Lookups;
  readonly client: KubeClient;
  readonly render: RenderOptions;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn' | 'debug'>;
  /** Identifies this operator among others. Stable across restarts. */
  readonly identity: string;
  /** Name of the pod, used in events. */
  readonly reporter: string;
  /** True when a finalizer protects objects that others refer to. */
  readonly protects: boolean;
  readonly workers?: number;
}

const WORKERS = 16;
/** Delay that batches changes which arrive together, such as an object and the objects that it refers to. */
const BATCH_DELAY_MS = 100;

/** Period in which this process is the leader. */
interface Term {
  readonly queue: WorkQueue;
  /** Aborts the writes in progress. */
  readonly end: AbortController;
}

/** Queues reconciles for changes while this process leads. A standby only tracks the resources. */
export class Controller {
  readonly metrics: OperatorMetrics;
  readonly #options: ControllerOptions;
  readonly #written: WrittenObjects;
  readonly #events: EventRecorder;
  readonly #pods: UnreadyPods;
  /** Latest version of every custom resource. */
  readonly #resources = new Map<string, KubeObject>();
  readonly #reconcile: ReturnType<typeof createReconciler>;
  #term: Term | undefined;
  /** Resolves when the runs of earlier terms have ended. A key never runs twice at the same time. */
  #stopping: Promise<void> = Promise.resolve();
  #isFinished = false;

  constructor(options: ControllerOptions) {
    const { client, clock, controllers, identity, log, reporter, view } = options;
    this.#options = options;
    this.metrics = createMetrics(
      () => this.#resources.values(),
      controllers.map(({ kind }) => kind),
    );
    this.#written = new WrittenObjects(
      () => clock.now(),
      (_type, previous, current) => {
        this.#enqueue({ previous, current });
      },
    );
    this.#events = new EventRecorder({ client, clock, reporter, log });
    this.#pods = new UnreadyPods(client, () => clock.now());
    const writer = whileLeading(client, () => this.#term?.end.signal);
    this.#reconcile = createReconciler({
      ...options,
      client: writer,
      target: new Applier({ client: writer, seen: view, written: this.#written, identity, now: () => clock.now() }),
      written: this.#written,
      pods: this.#pods,
      metrics: this.metrics,
      record: (about, event) => {
        this.#events.record(about, event);
      },
    });
  }

  /** Handles a change reported by a watch. */
  onChange(type: ResourceType, previous: KubeObject | undefined, current: KubeObject | undefined): void {
    const object = current ?? previous;
    if (!object) return;
    if (isOwnKind(type.kind)) this.#track(object, current);
    if (!current) this.#pods.forget(object);
    if (this.#written.isEcho(type, previous, current)) return;
    this.#enqueue({ previous, current });
  }

  /** Handles a completed list. The changes that it contains are reported next, and are not echoes of own writes. */
  onListed(type: ResourceType, namespace: string | undefined, resourceVersion: string): void {
    this.#written.listed(type, namespace, resourceVersion);
  }

  /** Handles an optional kind that has appeared or disappeared in a namespace, or in all: objects of it may be desired. */
  onServed(namespace: string | undefined): void {
    for (const { kind, metadata } of this.#resources.values()) {
      if (!hasWorkload(kind) || (namespace !== undefined && metadata.namespace !== namespace)) continue;
      this.#term?.queue.add({ kind, namespace: metadata.namespace ?? '', name: metadata.name }, BATCH_DELAY_MS);
    }
  }

  #enqueue(change: Change): void {
    if (!this.#term) return;
    for (const key of affected(change, this.#options.view)) this.#term.queue.add(key, BATCH_DELAY_MS);
  }

  /** Starts to lead: reconciles every object once, and then each that changes. The view must be complete. */
  startLeading(): void {
    if (this.#term || this.#isFinished) return;
    const { clock, workers = WORKERS } = this.#options;
    const queue = new WorkQueue({ run: this.#reconcile, clock, workers, hooks: this.#hooks() });
    this.#term = { queue, end: new AbortController() };
    for (const { kind, metadata } of this.#resources.values()) {
      queue.add({ kind, namespace: metadata.namespace ?? '', name: metadata.name });
    }
    this.metrics.leading(true);
    void this.#stopping.then(() => {
      queue.start();
    });
  }

  #hooks(): QueueHooks {
    const { queue } = this.metrics;
    return {
      ...queue,
      paced: (key) => {
        queue.paced(key);
        this.#options.log.warn(
          'a resource changes continuously: another controller may revert the changes of the operator',
          key,
        );
      },
    };
  }

  /** Stops leading: starts no reconcile and writes nothing more, because another process may lead soon. */
  stopLeading(): void {
    const term = this.#term;
    this.#term = undefined;
    this.metrics.leading(false);
    if (!term) return;
    this.#stopping = Promise.all([this.#stopping, term.queue.stop()]).then(() => undefined);
    term.end.abort(notLeading());
  }

  /** Shuts down. Running reconciles may still write, so the lease must be held until this resolves. */
  async shutDown(): Promise<void> {
    this.#isFinished = true;
    await this.#term?.queue.stop();
    this.stopLeading();
    await this.#stopping;
    await this.#events.drained();
  }

  #track(object: KubeObject, current: KubeObject | undefined): void {
    const id = objectKey(object);
    if (current) this.#resources.set(id, current);
    else this.#resources.delete(id);
  }
}

const notLeading = (): ApiError =>
  new ApiError({ status: 409, reason: 'Conflict', message: 'this process is no longer the leader' });

/** Wraps a client so that writes are rejected, or aborted, when this process no longer leads. */
function whileLeading(client: KubeClient, leading: () => AbortSignal | undefined): Writer {
  const guarded = async <T>(write: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    const signal = leading();
    if (!signal) throw notLeading();
    return write(signal);
  };
  return {
    get: (type, namespace, name) => client.get(type, namespace, name),
    apply: (object, options) => guarded((signal) => client.apply(object, { ...options, signal })),
    mergePatch: (type, namespace, name, patch, options) =>
      guarded((signal) => client.mergePatch(type, namespace, name, patch, { ...options, signal })),
    delete: (type, namespace, name, options) =>
      guarded((signal) => client.delete(type, namespace, name, { ...options, signal })),
  };
}
