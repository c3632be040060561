import { ApiError, errorOfFailure, errorOfStatus, isStatus, type ApiStatus } from './api-error.ts';
import type { Connection } from './connection.ts';
import { Exchange, type ExchangeOptions, invalid, linesOf } from './exchange.ts';
import { apiVersionOf, pathOf, resourceOf, RESOURCES, type KubeObject, type ResourceType } from './resource.ts';
import { Turns } from '../kit/tasks.ts';

export { ApiError } from './api-error.ts';

export interface KubeClientOptions extends ExchangeOptions {
  /** Time without any event or bookmark after which a watch is closed. */
  readonly watchIdleMs?: number;
}

export interface Selection {
  /** Absent: all namespaces. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Without spec, status and data. */
  readonly metadataOnly?: boolean | undefined;
}

export interface ListOptions extends Selection {
  readonly limit?: number | undefined;
  readonly continue?: string | undefined;
  readonly resourceVersion?: string | undefined;
}

export interface ObjectList<T> {
  readonly items: T[];
  readonly resourceVersion: string;
  /** Token for the next page; absent on the last page. */
  readonly continue?: string;
}

export interface WatchOptions extends Selection {
  readonly resourceVersion: string;
  /** Time after which the server ends the watch. */
  readonly timeoutSeconds?: number | undefined;
  /** Called when the server has accepted the watch. */
  readonly onOpen?: (() => void) | undefined;
  readonly signal: AbortSignal;
}

export interface WatchEvent<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  /** A bookmark has a resourceVersion only. */
  readonly object: T;
}

export interface WriteOptions {
  readonly subresource?: 'status' | undefined;
  readonly fieldManager?: string | undefined;
  /** Cancels the write unless the server already has it. */
  readonly signal?: AbortSignal | undefined;
  /** Validates the write and returns its result without storing it. */
  readonly dryRun?: boolean | undefined;
}

export interface MergePatchOptions extends Omit<WriteOptions, 'dryRun'> {
  /** Merges lists by their keys, as `kubectl patch` does. Kinds of Kubernetes only. */
  readonly isStrategic?: boolean | undefined;
}

export interface DeleteOptions extends Pick<WriteOptions, 'signal'> {
  readonly uid?: string;
  readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
}

/** Query of the log of a pod, by the names of the API server. */
export interface PodLogOptions {
  readonly container: string;
  readonly tailLines?: number;
  /** RFC 3339. */
  readonly sinceTime?: string;
  /** Starts each line with its time, RFC 3339 with nine decimals. */
  readonly timestamps?: boolean;
}

const WATCH_IDLE_MS = 240_000;
/** Limits concurrent lists: pages are large, and their memory is freed late. */
const LISTS_AT_A_TIME = 2;
const EVENT_TYPES: ReadonlySet<unknown> = new Set(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK']);
/** The API server sends logs as text only. */
const ANY_TEXT = 'text/plain, application/json';
const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';

/**
 * Client of an API server. Every failure is an `ApiError`; no error and no log contains a token. When the server
 * is too busy, the request waits and is retried.
 */
export class KubeClient {
  readonly #http: Exchange;
  readonly #watchIdleMs: number;
  readonly #lists = new Turns(LISTS_AT_A_TIME);

  constructor(connection: Connection, { watchIdleMs = WATCH_IDLE_MS, ...options }: KubeClientOptions = {}) {
    this.#http = new Exchange(connection, options);
    this.#watchIdleMs = watchIdleMs;
  }

  /** Returns undefined when the object does not exist. */
  async get<T extends KubeObject>(
    type: ResourceType,
    namespace: string | undefined,
    name: string,
    { metadataOnly = false }: { metadataOnly?: boolean } = {},
  ): Promise<T | undefined> {
    const path = pathOf(type, { namespace, name });
    try {
      return typed(
        type,
        (await this.#http.json({ method: 'GET', path, ...(metadataOnly && { accept: METADATA }) })) as T,
      );
    } catch (error) {
      if (isAbsent(error)) return undefined;
      throw error;
    }
  }

  async list<T extends KubeObject>(type: ResourceType, options: ListOptions = {}): Promise<ObjectList<T>> {
    const { metadataOnly = false, ...rest } = options;
    const path = `${pathOf(type, { namespace: options.namespace })}${query(selected(rest))}`;
    const request = { method: 'GET', path, ...(metadataOnly && { accept: METADATA_LIST }) } as const;
    const reply = await this.#lists.run(() => this.#http.json(request));
    const { metadata, items } = reply as {
      metadata?: { resourceVersion?: string; continue?: string };
      items?: unknown;
    };
    if (metadata?.resourceVersion === undefined) throw invalid(`${path}: the reply is no list`);
    return {
      // An empty list may come as null.
      items: ((items ?? []) as T[]).map((item) => typed(type, item)),
      resourceVersion: metadata.resourceVersion,
      ...(metadata.continue !== undefined && metadata.continue !== '' && { continue: metadata.continue }),
    };
  }

  /**
   * Yields every change after `resourceVersion`, until the server or `signal` ends the watch. Any other end
   * throws an ApiError, with reason `Expired` when the resourceVersion is too old.
   */
  async *watch<T extends KubeObject>(type: ResourceType, options: WatchOptions): AsyncGenerator<WatchEvent<T>, void> {
    const { signal, metadataOnly = false, resourceVersion, timeoutSeconds, onOpen, ...rest } = options;
    const parameters = { ...selected(rest), watch: true, allowWatchBookmarks: true, resourceVersion, timeoutSeconds };
    const path = `${pathOf(type, { namespace: options.namespace })}${query(parameters)}`;
    try {
      const accept = metadataOnly ? METADATA : 'application/json';
      const body = await this.#http.stream(path, accept, this.#watchIdleMs, signal);
      onOpen?.();
      for await (const line of linesOf(body)) yield eventOf<T>(type, line);
    } catch (error) {
      if (!signal.aborted) throw errorOfFailure(error);
    }
  }

  async create<T extends KubeObject>(
    type: ResourceType,
    namespace: string | undefined,
    object: KubeObject,
    { fieldManager, signal }: Omit<WriteOptions, 'subresource'> = {},
  ): Promise<T> {
    const path = `${pathOf(type, { namespace })}${query({ fieldManager })}`;
    return typed(type, (await this.#http.json({ method: 'POST', path, body: object, signal })) as T);
  }

  /**
   * Applies the fields of `object` (server-side apply) and keeps all others. The merge itself
   * rejects unknown fields, so field validation is not requested.
   */
  async apply<T extends KubeObject>(
    object: KubeObject,
    { fieldManager, force, subresource, signal, dryRun }: WriteOptions & { fieldManager: string; force: boolean },
  ): Promise<T> {
    const type = resourceOf(object);
    const { namespace, name } = object.metadata;
    const options = { fieldManager, force, fieldValidation: 'Ignore', dryRun: dryRun === true ? 'All' : undefined };
    const path = `${pathOf(type, { namespace, name, subresource })}${query(options)}`;
    const contentType = 'application/apply-patch+yaml';
    return typed(type, (await this.#http.json({ method: 'PATCH', path, body: object, contentType, signal })) as T);
  }

  async mergePatch<T extends KubeObject>(
    type: ResourceType,
    namespace: string | undefined,
    name: string,
    patch: object,
    { subresource, fieldManager, signal, isStrategic = false }: MergePatchOptions = {},
  ): Promise<T> {
    const path = `${pathOf(type, { namespace, name, subresource })}${query({ fieldManager })}`;
    const contentType = `application/${isStrategic ? 'strategic-merge' : 'merge'}-patch+json`;
    return typed(type, (await this.#http.json({ method: 'PATCH', path, body: patch, contentType, signal })) as T);
  }

  /** Replaces an object. Throws `Conflict` when it has changed since the resourceVersion in `object`. */
  async update<T extends KubeObject>(
    object: KubeObject,
    { subresource, fieldManager, signal }: WriteOptions = {},
  ): Promise<T> {
    const type = resourceOf(object);
    const { namespace, name } = object.metadata;
    const path = `${pathOf(type, { namespace, name, subresource })}${query({ fieldManager })}`;
    return typed(type, (await this.#http.json({ method: 'PUT', path, body: object, signal })) as T);
  }

  /** Deletes an object, also when it does not exist. With another `uid` throws `Conflict`. */
  async delete(
    type: ResourceType,
    namespace: string | undefined,
    name: string,
    { uid, propagationPolicy, signal }: DeleteOptions = {},
  ): Promise<void> {
    const body = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      ...(uid !== undefined && { preconditions: { uid } }),
      ...(propagationPolicy !== undefined && { propagationPolicy }),
    };
    try {
      await this.#http.json({ method: 'DELETE', path: pathOf(type, { namespace, name }), body, signal });
    } catch (error) {
      if (!isAbsent(error)) throw error;
    }
  }

  /** Reads any other document of the API server, such as `/apis`. */
  async getJson(path: string): Promise<unknown> {
    return this.#http.json({ method: 'GET', path });
  }

  /** Reads the output of a container. @throws ApiError, such as `BadRequest` for a container that has not started */
  async log(namespace: string, pod: string, options: PodLogOptions): Promise<string> {
    return this.#http.text({ method: 'GET', path: logPath(namespace, pod, options), accept: ANY_TEXT });
  }

  /** Yields the lines of a container's output until the container or `signal` ends it. @throws ApiError */
  async *followLog(
    namespace: string,
    pod: string,
    options: PodLogOptions,
    signal: AbortSignal,
  ): AsyncGenerator<string, void> {
    try {
      const path = logPath(namespace, pod, { ...options, follow: true });
      yield* linesOf(await this.#http.stream(path, ANY_TEXT, 0, signal));
    } catch (error) {
      if (!signal.aborted) throw errorOfFailure(error);
    }
  }

  /** Closes the client: running requests may finish, watches end. */
  async close(): Promise<void> {
    await this.#http.close();
  }
}

const logPath = (namespace: string, pod: string, options: PodLogOptions & { follow?: boolean }): string =>
  `${pathOf(RESOURCES.Pod, { namespace, name: pod, subresource: 'log' })}${query({ ...options })}`;

const isAbsent = (error: unknown): boolean => error instanceof ApiError && error.status === 404;

function selected({ labelSelector, fieldSelector, ...rest }: Omit<ListOptions, 'metadataOnly'>) {
  return {
    labelSelector,
    fieldSelector,
    limit: rest.limit,
    continue: rest.continue,
    resourceVersion: rest.resourceVersion,
  };
}

function query(parameters: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined);
  if (given.length === 0) return '';
  return `?${new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)])).toString()}`;
}

/** Adds kind and apiVersion, which objects in lists lack and metadata-only objects have wrong. */
function typed<T extends KubeObject>(type: ResourceType, object: T): T {
  return { ...object, apiVersion: apiVersionOf(type), kind: type.kind };
}

function eventOf<T extends KubeObject>(type: ResourceType, line: string): WatchEvent<T> {
  let event: { type?: unknown; object?: unknown };
  try {
    event = JSON.parse(line) as typeof event;
  } catch (error) {
    throw invalid('a line of a watch is no JSON', error);
  }
  if (event.type === 'ERROR') {
    throw errorOfStatus(isStatus(event.object) ? event.object : ({ kind: 'Status' } satisfies ApiStatus), 500);
  }
  if (!EVENT_TYPES.has(event.type) || typeof event.object !== 'object' || event.object === null) {
    throw invalid('a line of a watch is no event');
  }
  return { type: event.type as WatchEvent<T>['type'], object: typed(type, event.object as T) };
}
