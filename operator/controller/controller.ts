import { isOwnKind } from '../../crds/kinds/roles.ts';
import { ApiError, type KubeClient } from '../../gateway/kube/client.ts';
import { objectKey, type KubeObject, type ResourceType } from '../../gateway/kube/resource.ts';
import type { RenderOptions } from '../render/index.ts';
import { KubeTarget, type Writer } from '../apply/apply.ts';
import { WrittenObjects } from '../apply/written-objects.ts';
import { affected, type Change, type Lookups } from './affected.ts';
import type { Clock } from './clock.ts';
import { EventRecorder } from './events.ts';
import type { KindController } from './kind-controller.ts';
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
  /** Tells this operator from others, over restarts. */
  readonly identity: string;
  /** Name of the pod, for events. */
  readonly reporter: string;
  /** Whether what others refer to is kept from being deleted. */
  readonly protects: boolean;
  readonly workers?: number;
}

const WORKERS = 16;
/** Changes come in crowds: a resource with all that it refers to, an object with the echo of its making. */
const GATHER_MS = 100;

/** A time of leading. */
interface Lead {
  readonly queue: WorkQueue;
  /** Ends the writes that are under way. */
  readonly end: AbortController;
}

/** Turns changes into reconciles while it leads. On a standby it only keeps count. */
export class Controller {
  readonly metrics: OperatorMetrics;
  readonly #options: ControllerOptions;
  readonly #written: WrittenObjects;
  readonly #events: EventRecorder;
  readonly #pods: UnreadyPods;
  /** Every custom resource as last seen. */
  readonly #resources = new Map<string, KubeObject>();
  readonly #reconcile: ReturnType<typeof createReconciler>;
  #lead: Lead | undefined;
  /** Runs of an earlier lead that have not ended: no key may run twice at a time. */
  #resting: Promise<void> = Promise.resolve();
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
    const writer = whileLeading(client, () => this.#lead?.end.signal);
    this.#reconcile = createReconciler({
      ...options,
      client: writer,
      target: new KubeTarget({ client: writer, seen: view, written: this.#written, identity, now: () => clock.now() }),
      written: this.#written,
      pods: this.#pods,
      metrics: this.metrics,
      record: (about, event) => {
        this.#events.record(about, event);
      },
    });
  }

  /** Takes every change that the watches bring. */
  onChange(type: ResourceType, previous: KubeObject | undefined, current: KubeObject | undefined): void {
    const object = current ?? previous;
    if (!object) return;
    if (isOwnKind(type.kind)) this.#remember(object, current);
    if (!current) this.#pods.forget(object);
    if (this.#written.isEcho(type, previous, current)) return;
    this.#enqueue({ previous, current });
  }

  /** A list is there, and what differs comes next: it holds more than the echo of what was written here. */
  onListed(type: ResourceType, namespace: string | undefined, resourceVersion: string): void {
    this.#written.listed(type, namespace, resourceVersion);
  }

  #enqueue(change: Change): void {
    if (!this.#lead) return;
    for (const key of affected(change, this.#options.view)) this.#lead.queue.add(key, GATHER_MS);
  }

  /** Looks at everything, and from then on at what changes. The view must be complete. */
  lead(): void {
    if (this.#lead || this.#isFinished) return;
    const { clock, workers = WORKERS } = this.#options;
    const queue = new WorkQueue({ run: this.#reconcile, clock, workers, hooks: this.#hooks() });
    this.#lead = { queue, end: new AbortController() };
    for (const { kind, metadata } of this.#resources.values()) {
      queue.add({ kind, namespace: metadata.namespace ?? '', name: metadata.name });
    }
    this.metrics.leading(true);
    void this.#resting.then(() => {
      queue.start();
    });
  }

  #hooks(): QueueHooks {
    const { queue } = this.metrics;
    return {
      ...queue,
      paced: (key) => {
        queue.paced(key);
        this.#options.log.warn('a resource changes without a pause: something else may revert what is written', key);
      },
    };
  }

  /** Begins nothing new and writes nothing more: somebody else may lead soon. */
  rest(): void {
    const lead = this.#lead;
    this.#lead = undefined;
    this.metrics.leading(false);
    if (!lead) return;
    this.#resting = Promise.all([this.#resting, lead.queue.stop()]).then(() => undefined);
    lead.end.abort(leadsNoMore());
  }

  /** Ends for good. What runs may still write, so the lease must be held until this is done. */
  async finish(): Promise<void> {
    this.#isFinished = true;
    await this.#lead?.queue.stop();
    this.rest();
    await this.#resting;
    await this.#events.drained();
  }

  #remember(object: KubeObject, current: KubeObject | undefined): void {
    const id = objectKey(object);
    if (current) this.#resources.set(id, current);
    else this.#resources.delete(id);
  }
}

const leadsNoMore = (): ApiError =>
  new ApiError({ status: 409, reason: 'Conflict', message: 'this process leads no more' });

/** The client, whose writes are refused, and taken back, once somebody else may lead. */
function whileLeading(client: KubeClient, leading: () => AbortSignal | undefined): Writer {
  const guarded = async <T>(write: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    const signal = leading();
    if (!signal) throw leadsNoMore();
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
