import { hash } from 'node:crypto';
import { ApiError } from '../../gateway/kube/client.ts';
import { apiVersionOf, RESOURCES, type KubeObject, type ResourceType } from '../../gateway/kube/resource.ts';
import type { Clock } from './clock.ts';
import type { Logger } from '../../gateway/contract/logger.ts';

/** Something that changed and that `kubectl describe` should tell. */
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
  /** The pod. */
  readonly reporter: string;
  readonly log: Pick<Logger, 'debug'>;
}

interface Told {
  count: number;
  at: number;
}

const MAX_MESSAGE = 1_024;
/** What comes back more often than this is said once. */
const SAY_AGAIN_AFTER_MS = 60_000;
/** The API server keeps events for an hour. */
const FORGET_AFTER_MS = 3_600_000;
const REMEMBERED = 5_000;
const WAITING = 1_000;
const AT_A_TIME = 2;
export const REPORTER = 'vmcp-operator';

/**
 * Events in the API server: one object for each (resource, reason, message), whose count grows. They are worth no
 * retry, and nobody waits for them: of a storm the newest are dropped.
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #told = new Map<string, Told>();
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
    const told = this.#told.get(digest);
    if (told && now - told.at < SAY_AGAIN_AFTER_MS) return;
    if (this.#waiting.length >= WAITING) return;
    const count = told && now - told.at < FORGET_AFTER_MS ? told.count + 1 : 1;
    this.#remember(digest, { count, at: now });
    // Names of objects may be longer than those of events allow with a digest behind.
    const name = `${about.metadata.name.slice(0, 200).replace(/(?<![.-])[.-]+$/u, '')}.${digest}`;
    this.#waiting.push(() => this.#send(about, { type, reason, message: text }, name, count));
    this.#work();
  }

  /** Resolves when nothing is left to send. */
  async drained(): Promise<void> {
    if (this.#sending === 0) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #remember(digest: string, told: Told): void {
    this.#told.delete(digest);
    this.#told.set(digest, told);
    const oldest = this.#told.keys().next();
    if (this.#told.size > REMEMBERED && oldest.done !== true) this.#told.delete(oldest.value);
  }

  #work(): void {
    while (this.#sending < AT_A_TIME) {
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
    const again = () => client.mergePatch(RESOURCES.Event, namespace, name, { count, lastTimestamp });
    const first = () => client.create(RESOURCES.Event, namespace, this.#event(about, note, name, lastTimestamp));
    try {
      // A new leader may find the event of the old one, and an old event may be gone.
      await (count > 1 ? again().catch(on(404, first)) : first().catch(on(409, again)));
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

/** A second way for one status of the API server. */
const on =
  <T>(status: number, instead: () => Promise<T>) =>
  (error: unknown): Promise<T> => {
    if (error instanceof ApiError && error.status === status) return instead();
    throw error;
  };
