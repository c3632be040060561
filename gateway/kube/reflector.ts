import { setTimeout as sleep } from 'node:timers/promises';
import { errorOfFailure, type ApiError } from './api-error.ts';
import type { KubeClient, WatchEvent } from './client.ts';
import type { KubeObject, ResourceType } from './resource.ts';
import { RetryPause } from './retry-pause.ts';
import type { Logger } from '../contract/logger.ts';

/** Object before and after; `undefined` when it did not exist. */
type Change<T> = readonly [previous: T | undefined, current: T | undefined];

/** Objects of one kind by namespace and name. */
class ObjectStore<T extends KubeObject> {
  readonly #namespaces = new Map<string, Map<string, T>>();

  get(namespace: string | undefined, name: string): T | undefined {
    return this.#namespaces.get(namespace ?? '')?.get(name);
  }

  *values(): Iterable<T> {
    for (const objects of this.#namespaces.values()) yield* objects.values();
  }

  inNamespace(namespace: string | undefined): Iterable<T> {
    return this.#namespaces.get(namespace ?? '')?.values() ?? [];
  }

  /** Returns the previous object. */
  put(object: T): T | undefined {
    const { namespace = '', name } = object.metadata;
    let objects = this.#namespaces.get(namespace);
    if (!objects) {
      objects = new Map();
      this.#namespaces.set(namespace, objects);
    }
    const previous = objects.get(name);
    objects.set(name, object);
    return previous;
  }

  /** Returns the previous object. */
  remove({ metadata: { namespace = '', name } }: Pick<KubeObject, 'metadata'>): T | undefined {
    const objects = this.#namespaces.get(namespace);
    const previous = objects?.get(name);
    if (!objects?.delete(name)) return undefined;
    if (objects.size === 0) this.#namespaces.delete(namespace);
    return previous;
  }

  /** Replaces all objects. Yields each change after it was made. */
  *replace(objects: readonly T[]): Iterable<Change<T>> {
    const found = new ObjectStore<T>();
    for (const object of objects) found.put(object);
    for (const gone of [...this.values()].filter(({ metadata }) => !found.get(metadata.namespace, metadata.name))) {
      this.remove(gone);
      yield [gone, undefined];
    }
    for (const object of found.values()) {
      const { namespace, name, uid, resourceVersion } = object.metadata;
      const known = this.get(namespace, name)?.metadata;
      if (known?.uid === uid && known?.resourceVersion === resourceVersion) continue;
      yield [this.put(object), object];
    }
  }
}

export interface ReflectorOptions<T extends KubeObject> {
  readonly client: KubeClient;
  readonly type: ResourceType;
  /** Absent: all namespaces. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly metadataOnly?: boolean | undefined;
  /** Returns the part of an object to keep; managedFields are already removed. */
  readonly transform?: ((object: T) => T) | undefined;
  /** Called after the store has changed. `current` is undefined for a deleted object. */
  readonly onChange: (previous: T | undefined, current: T | undefined) => void;
  /** Called when a list of this version has arrived, before its changes. */
  readonly onListed?: ((resourceVersion: string) => void) | undefined;
  /** Called when the API server has begun or ceased to serve an optional kind, after the store has changed. */
  readonly onServed?: (() => void) | undefined;
  readonly log: Logger;
  /** ms on a monotonic clock. */
  readonly now: () => number;
  /** From 0 to 1. */
  readonly random: () => number;
}

const PAGE = 100;
const WATCH_SECONDS = 300;
/** A watch that ends sooner without an event counts as failed. */
const SHORT_MS = 1_000;
/** Consecutive failures after which the watch does not resume but lists again. */
const FAILURES_BEFORE_LIST = 3;

/**
 * Cache of all objects of a kind: lists them, then watches, and resumes the watch where it
 * ended, until `close`. Reports a list as its difference from the cache.
 */
export class Reflector<T extends KubeObject> {
  /** Resolves after the first list. Never rejects. */
  readonly synced: Promise<void>;
  readonly #options: ReflectorOptions<T>;
  readonly #store = new ObjectStore<T>();
  readonly #pause: RetryPause;
  readonly #closing = new AbortController();
  #markSynced: () => void = () => undefined;
  #running: Promise<void> | undefined;
  /** Version to watch from; undefined means to list first. */
  #resourceVersion: string | undefined;
  /** True: the next list is read without pages, because pages expired while they were read. */
  #wholeList = false;
  #complained: string | undefined;
  /** True after a list of an optional kind that the API server lacks. */
  #isAbsent = false;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#pause = new RetryPause(options.random);
    this.synced = new Promise((resolve) => {
      this.#markSynced = resolve;
    });
  }

  /** False while the API server lacks an optional kind, or gives no right to list it. */
  get isServed(): boolean {
    return !this.#isAbsent;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  get(namespace: string | undefined, name: string): T | undefined {
    return this.#store.get(namespace, name);
  }

  values(): Iterable<T> {
    return this.#store.values();
  }

  inNamespace(namespace: string | undefined): Iterable<T> {
    return this.#store.inNamespace(namespace);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        const from = this.#resourceVersion ?? (await this.#list());
        await this.#watch(from);
      } catch (thrown) {
        const error = errorOfFailure(thrown);
        if (this.#resourceVersion === undefined && this.#options.type.optional === true && isLacking(error)) {
          this.#setAbsent(error);
          await this.#rest(this.#pause.next());
          continue;
        }
        if (error.reason === 'Expired' || this.#pause.failures >= FAILURES_BEFORE_LIST)
          this.#resourceVersion = undefined;
        this.#complain(error);
        await this.#rest(this.#pause.next(error.retryAfterMs));
      }
    }
  }

  async #list(): Promise<string> {
    const { client, type, namespace, labelSelector, fieldSelector, metadataOnly } = this.#options;
    const selection = { namespace, labelSelector, fieldSelector, metadataOnly };
    const found: T[] = [];
    let page: Awaited<ReturnType<typeof client.list<T>>> | undefined;
    do {
      const limit = this.#wholeList ? undefined : PAGE;
      try {
        page = await client.list<T>(type, { ...selection, limit, continue: page?.continue });
      } catch (error) {
        this.#wholeList = page !== undefined && errorOfFailure(error).reason === 'Expired';
        throw error;
      }
      found.push(...page.items.map((item) => this.#kept(item)));
    } while (page.continue !== undefined && !this.#closing.signal.aborted);
    this.#wholeList = false;
    this.#options.onListed?.(page.resourceVersion);
    for (const [previous, current] of this.#store.replace(found)) this.#tell(previous, current);
    this.#resourceVersion = page.resourceVersion;
    this.#markSynced();
    this.#setServed();
    return page.resourceVersion;
  }

  #setServed(): void {
    if (!this.#isAbsent) return;
    this.#isAbsent = false;
    this.#options.log.info('an optional kind is served now', { kind: this.#options.type.kind });
    this.#options.onServed?.();
  }

  #setAbsent({ status }: ApiError): void {
    if (this.#isAbsent) return;
    this.#isAbsent = true;
    for (const [previous, current] of this.#store.replace([])) this.#tell(previous, current);
    const { log, type, onServed } = this.#options;
    log.debug('an optional kind is not served, or may not be listed', { kind: type.kind, status });
    this.#markSynced();
    onServed?.();
  }

  async #watch(resourceVersion: string): Promise<void> {
    const { client, type, namespace, labelSelector, fieldSelector, metadataOnly, now, random } = this.#options;
    const { signal } = this.#closing;
    const timeoutSeconds = Math.round(WATCH_SECONDS * (1 + random()));
    const started = now();
    let events = 0;
    const selection = { namespace, labelSelector, fieldSelector, metadataOnly };
    const watch = { ...selection, resourceVersion, timeoutSeconds, signal };
    for await (const event of client.watch<T>(type, {
      ...watch,
      onOpen: () => {
        this.#opened();
      },
    })) {
      events += 1;
      this.#pause.reset();
      this.#take(event);
      this.#resourceVersion = event.object.metadata.resourceVersion ?? this.#resourceVersion;
    }
    if (events === 0 && now() - started < SHORT_MS) await this.#rest(this.#pause.next());
    else this.#pause.reset();
  }

  #take({ type, object }: WatchEvent<T>): void {
    if (type === 'BOOKMARK') return;
    if (type === 'DELETED') {
      const previous = this.#store.remove(object);
      if (previous) this.#tell(previous, undefined);
      return;
    }
    const current = this.#kept(object);
    this.#tell(this.#store.put(current), current);
  }

  #kept(object: T): T {
    const { managedFields, ...metadata } = object.metadata as T['metadata'] & { managedFields?: unknown };
    const stripped = managedFields === undefined ? object : { ...object, metadata };
    return this.#options.transform ? this.#options.transform(stripped) : stripped;
  }

  #tell(previous: T | undefined, current: T | undefined): void {
    try {
      this.#options.onChange(previous, current);
    } catch (error) {
      const stack = error instanceof Error ? error.stack : String(error);
      this.#options.log.error('a change could not be processed', { kind: this.#options.type.kind, error: stack });
    }
  }

  async #rest(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#closing.signal }).catch(() => undefined);
  }

  /** Logs each kind of failure once until it ends. */
  #complain({ reason, message, status }: ApiError): void {
    const { log, type, namespace = 'all' } = this.#options;
    const fields = { kind: type.kind, namespace, reason, status, error: message };
    if (reason === 'Expired' || reason === this.#complained) log.debug('a watch ended', fields);
    else log.warn('objects cannot be watched: the last known state stays in use until then', fields);
    if (reason !== 'Expired') this.#complained = reason;
  }

  #opened(): void {
    if (this.#complained === undefined) return;
    const { log, type, namespace = 'all' } = this.#options;
    log.info('objects are watched again', { kind: type.kind, namespace, after: this.#complained });
    this.#complained = undefined;
  }
}

/** Returns true when the API server has no such kind, or no right for it: an extension may be absent. */
const isLacking = ({ status }: ApiError): boolean => status === 404 || status === 403;
