import { hash } from 'node:crypto';
import { ApiError } from '../../gateway/kube/client.ts';
import { apiVersionOf, RESOURCES, type KubeObject, type ResourceType } from '../../gateway/kube/resource.ts';
import type { Clock } from '../../gateway/kit/time.ts';
import type { Logger } from '../../gateway/contract/logger.ts';
import { setNewest } from '../../gateway/kit/cache.ts';

/** Event shown by `kubectl describe`. */
export interface EventNote {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

export interface EventClient {
  create(type: ResourceType, namespace: string, object: KubeObject): Promise<KubeObject>;
  mergePatch(type: ResourceType, namespace: string, name: string, patch: object): Promise<KubeObject>;
}

export interface EventRecorderOptions {
  readonly client: EventClient;
  readonly clock: Clock;
  /** Name of the pod. */
  readonly reporter: string;
  readonly log: Pick<Logger, 'debug'>;
}

interface SentEvent {
  count: number;
  at: number;
}

const MAX_MESSAGE = 1_024;
/** Shortest time between two writes of the same event. */
const REPEAT_AFTER_MS = 60_000;
/** The API server keeps events for an hour. */
const FORGET_AFTER_MS = 3_600_000;
const MAX_REMEMBERED = 5_000;
const MAX_WAITING = 1_000;
const MAX_CONCURRENT = 2;
export const REPORTER = 'vmcp-operator';

/**
 * Records events in the API server: one object for each (resource, reason, message), with a count. Writes are not
 * retried and never block a reconcile. When too many are waiting, new ones are dropped.
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #sent = new Map<string, SentEvent>();
  readonly #waiting: (() => Promise<void>)[] = [];
  #sending = 0;
  #idle: (() => void)[] = [];

  constructor(options: EventRecorderOptions) {
    this.#options = options;
  }

  record(about: KubeObject, { type, reason, message }: EventNote): void {
    const now = this.#options.clock.now();
    const text = message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE - 1)}…` : message;
    const digest = hash('sha256', JSON.stringify([about.metadata.uid, reason, text]), 'hex').slice(0, 16);
    const sent = this.#sent.get(digest);
    if (sent && now - sent.at < REPEAT_AFTER_MS) return;
    if (this.#waiting.length >= MAX_WAITING) return;
    const count = sent && now - sent.at < FORGET_AFTER_MS ? sent.count + 1 : 1;
    setNewest(this.#sent, digest, { count, at: now }, MAX_REMEMBERED);
    // The name of the object is cut, so that the digest fits into the name of the event.
    const name = `${about.metadata.name.slice(0, 200).replace(/(?<![.-])[.-]+$/u, '')}.${digest}`;
    this.#waiting.push(() => this.#send(about, { type, reason, message: text }, name, count));
    this.#work();
  }

  /** Resolves when every event has been sent. */
  async drained(): Promise<void> {
    if (this.#sending === 0) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #work(): void {
    while (this.#sending < MAX_CONCURRENT) {
      const send = this.#waiting.shift();
      if (!send) break;
      this.#sending += 1;
      void send().then(() => {
        this.#sending -= 1;
        this.#work();
      });
    }
    if (this.#sending > 0) return;
    for (const resolve of this.#idle) resolve();
    this.#idle = [];
  }

  async #send(about: KubeObject, note: EventNote, name: string, count: number): Promise<void> {
    const { client, log } = this.#options;
    const namespace = about.metadata.namespace ?? 'default';
    const lastTimestamp = this.#time();
    const increment = () => client.mergePatch(RESOURCES.Event, namespace, name, { count, lastTimestamp });
    const create = () => client.create(RESOURCES.Event, namespace, this.#event(about, note, name, lastTimestamp));
    try {
      // The event of an earlier leader may exist already, and an old event may have expired.
      await (count > 1 ? increment().catch(onStatus(404, create)) : create().catch(onStatus(409, increment)));
    } catch (error) {
      log.debug('event not recorded', { reason: note.reason, problem: error instanceof Error ? error.message : error });
    }
  }

  #event({ apiVersion, kind, metadata }: KubeObject, note: EventNote, name: string, time: string): KubeObject {
    const { namespace = 'default', uid, resourceVersion } = metadata;
    return {
      apiVersion: apiVersionOf(RESOURCES.Event),
      kind: RESOURCES.Event.kind,
      metadata: { namespace, name },
      involvedObject: { apiVersion, kind, namespace, name: metadata.name, uid, resourceVersion },
      ...note,
      count: 1,
      firstTimestamp: time,
      lastTimestamp: time,
      source: { component: REPORTER },
      reportingComponent: REPORTER,
      reportingInstance: this.#options.reporter,
    };
  }

  #time(): string {
    return new Date(this.#options.clock.now()).toISOString().replace(/\.\d+Z$/u, 'Z');
  }
}

/** Returns an error handler that calls `fallback` for one status of the API server and rethrows other errors. */
const onStatus =
  <T>(status: number, fallback: () => Promise<T>) =>
  (error: unknown): Promise<T> => {
    if (error instanceof ApiError && error.status === status) return fallback();
    throw error;
  };
