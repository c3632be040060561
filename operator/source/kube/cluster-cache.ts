import type { KubeClient } from '../../../gateway/kube/client.ts';
import { RESOURCES, type KubeObject, type ResourceType } from '../../../gateway/kube/resource.ts';
import type { ObjectProblem, ObjectRef } from '../../resolve/scope.ts';
import { references } from '../../resolve/references.ts';
import { newSnapshot, type Resource, type Snapshot } from '../../resolve/snapshot.ts';
import {
  KindWatch,
  type KindWatchOptions,
  keptIdentity,
  keptNamespace,
  keptOwned,
  withoutLastApplied,
  OwnedObjects,
} from './kind-watch.ts';
import { NamespaceReader } from './namespace-reader.ts';
import { NamespaceView } from './namespace-view.ts';
import { ReferenceIndex } from './reference-index.ts';
import { ReferencedData, type Data, type DataRef } from './referenced-data.ts';
import { DATA_TYPES, isDataKind, OWN_TYPES, OWNED_SELECTOR, type DataKind } from './watched-kinds.ts';
import type { Logger } from '../../../gateway/contract/logger.ts';

/** Cache of everything that the operator watches. Reads return at once, except for methods that return a promise. */
export interface ClusterCache {
  /** Resolves when every kind has been listed. Single namespaces that cannot be read are not waited for. */
  readonly synced: Promise<void>;
  /** Returns an immutable snapshot of a namespace, the same object until something changes. */
  snapshot(namespace: string): Snapshot;
  /** Returns the problems of a custom resource itself. */
  problemsOf(ref: ObjectRef): readonly ObjectProblem[];
  /** Returns the latest version of a custom resource or of an object that the operator created. */
  raw(type: ResourceType, namespace: string, name: string): KubeObject | undefined;
  /** Returns the objects of a kind that the object with this uid controls. */
  owned(type: ResourceType, namespace: string, ownerUid: string): readonly KubeObject[];
  /** Returns false while the API server lacks an optional kind. */
  serves(type: ResourceType, namespace: string): boolean;
  /** Returns the custom resources that refer to `target`. */
  referrersOf(target: ObjectRef): readonly ObjectRef[];
  /** Returns the objects that a custom resource refers to. */
  targetsOf(referrer: ObjectRef): readonly ObjectRef[];
  /** Returns every custom resource in a namespace. */
  refsIn(namespace: string): readonly ObjectRef[];
  /**
   * Resolves when the snapshot contains the current version of every referenced Secret and ConfigMap.
   * @throws ApiError when one cannot be read
   */
  referencesReady(namespace: string): Promise<void>;
  /** Returns true when a namespace is being deleted. Always false when single namespaces are watched. */
  namespaceIsTerminating(namespace: string): boolean;
  close(): Promise<void>;
}

export interface ClusterEvents {
  /**
   * Called after the cache contains the change and the rest of the namespace. A Secret or ConfigMap is reported only if
   * a custom resource refers to it, after its keys have been read, and only with its identity.
   */
  onChange(type: ResourceType, previous: KubeObject | undefined, current: KubeObject | undefined): void;
  /** Called when all objects of a kind, in one namespace or in all, have been listed. Differences are reported next. */
  onListed?(type: ResourceType, namespace: string | undefined, resourceVersion: string): void;
  /** Called when the API server has begun or ceased to serve an optional kind, in one namespace or in all. */
  onServed?(namespace: string | undefined): void;
}

export interface ClusterCacheOptions {
  readonly client: KubeClient;
  readonly namespaces: 'all' | readonly string[];
  /** Types of the objects that the operator creates. */
  readonly ownedTypes: readonly ResourceType[];
  readonly events: ClusterEvents;
  readonly log: Logger;
  /** Returns the milliseconds of a monotonic clock. */
  readonly now: () => number;
  /** From 0 to 1. */
  readonly random: () => number;
}

type ChangeHandler = (type: ResourceType, previous?: KubeObject, current?: KubeObject) => void;

/** Creates the cache and starts to watch. */
export function startClusterCache(options: ClusterCacheOptions): ClusterCache {
  const cache = new WatchingCache(options);
  cache.start();
  return cache;
}

class WatchingCache implements ClusterCache {
  readonly #synced = Promise.withResolvers<undefined>();
  readonly synced: Promise<void> = this.#synced.promise;
  readonly #events: ClusterEvents;
  readonly #views = new Map<string, NamespaceView>();
  readonly #index = new ReferenceIndex();
  readonly #owned: ReadonlyMap<string, OwnedObjects>;
  readonly #referenced: ReferencedData;
  /** Watches of custom resources, owned objects and namespaces, by kind. */
  readonly #watches: ReadonlyMap<string, KindWatch>;
  /** Watches of the identities of Secrets and ConfigMaps, by kind. */
  readonly #identities: ReadonlyMap<string, KindWatch>;
  /** Readers by namespace, if single namespaces are watched. */
  readonly #readers: ReadonlyMap<string, NamespaceReader>;

  constructor(options: ClusterCacheOptions) {
    const { client, namespaces, ownedTypes, events } = options;
    this.#events = events;
    this.#owned = new Map(ownedTypes.map(({ kind }) => [kind, new OwnedObjects()]));
    const watch = (
      type: ResourceType,
      how: Partial<KindWatchOptions>,
      handleChange: ChangeHandler,
    ): [string, KindWatch] => {
      const onChange = (previous?: KubeObject, current?: KubeObject) => {
        handleChange(type, previous, current);
      };
      const onListed = (namespace: string | undefined, version: string) => events.onListed?.(type, namespace, version);
      const onServed = (namespace: string | undefined) => events.onServed?.(namespace);
      return [type.kind, new KindWatch({ ...options, ...how, type, onChange, onListed, onServed })];
    };
    const notify: ChangeHandler = this.#notify.bind(this);
    const onResource: ChangeHandler = this.#resourceChanged.bind(this);
    const onOwned: ChangeHandler = this.#ownedChanged.bind(this);
    const onData: ChangeHandler = (...change) => void this.#dataChanged(...change);
    this.#watches = new Map([
      ...OWN_TYPES.map((type) => watch(type, { transform: withoutLastApplied }, onResource)),
      ...ownedTypes.map((type) => watch(type, { labelSelector: OWNED_SELECTOR, transform: keptOwned }, onOwned)),
      // A Role in a namespace cannot grant permission to watch that namespace.
      ...(namespaces === 'all'
        ? [watch(RESOURCES.Namespace, { metadataOnly: true, transform: keptNamespace }, notify)]
        : []),
    ]);
    this.#identities = new Map(
      Object.values(DATA_TYPES).map((type) => watch(type, { metadataOnly: true, transform: keptIdentity }, onData)),
    );
    this.#referenced = new ReferencedData({
      client,
      index: this.#index,
      versionOf: ({ kind, namespace, name }) =>
        this.#identities.get(kind)?.get(namespace, name)?.metadata.resourceVersion,
      keep: (ref, kept) => {
        this.#keep(ref, kept);
      },
    });
    this.#readers = new Map(
      (namespaces === 'all' ? [] : namespaces).map((namespace) => [namespace, this.#reader(namespace, options)]),
    );
  }

  start(): void {
    for (const reader of this.#readers.values()) reader.start();
    const settled = Array.from(this.#readers.values(), (reader) => reader.settled);
    const first = settled.length > 0 ? settled : this.#all().map((watch) => watch.read());
    void Promise.all(first).then(() => {
      this.#synced.resolve(undefined);
    });
  }

  snapshot(namespace: string): Snapshot {
    return this.#views.get(namespace)?.snapshot() ?? newSnapshot(namespace, {});
  }

  problemsOf(ref: ObjectRef): readonly ObjectProblem[] {
    return this.#views.get(ref.namespace)?.problemsOf(ref) ?? [];
  }

  raw({ kind }: ResourceType, namespace: string, name: string): KubeObject | undefined {
    return this.#watches.get(kind)?.get(namespace, name);
  }

  owned({ kind }: ResourceType, namespace: string, ownerUid: string): readonly KubeObject[] {
    return this.#owned.get(kind)?.of(namespace, ownerUid) ?? [];
  }

  serves({ kind }: ResourceType, namespace: string): boolean {
    return this.#watches.get(kind)?.isServed(namespace) === true;
  }

  referrersOf(target: ObjectRef): readonly ObjectRef[] {
    return this.#index.referrersOf(target);
  }

  targetsOf({ kind, namespace, name }: ObjectRef): readonly ObjectRef[] {
    const object = this.#watches.get(kind)?.get(namespace, name);
    const found = object ? references(object as unknown as Resource) : [];
    return found.map((to) => ({ kind: to.target, namespace, name: to.name }));
  }

  refsIn(namespace: string): readonly ObjectRef[] {
    return this.#views.get(namespace)?.refs() ?? [];
  }

  async referencesReady(namespace: string): Promise<void> {
    await this.#referenced.ready(namespace);
  }

  namespaceIsTerminating(namespace: string): boolean {
    return this.raw(RESOURCES.Namespace, '', namespace)?.metadata.deletionTimestamp !== undefined;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#readers.values(), ...this.#all()].map((each) => each.close()));
  }

  #reader(namespace: string, { client, log, random }: ClusterCacheOptions): NamespaceReader {
    return new NamespaceReader({
      client,
      namespace,
      types: this.#all().flatMap(({ type }) => (type.optional === true ? [] : [type])),
      watch: () => Promise.all(this.#all().map((watch) => watch.read(namespace))),
      onRead: () => {
        for (const { kind, name } of this.refsIn(namespace)) {
          const watch = this.#watches.get(kind);
          if (watch) this.#notify(watch.type, undefined, watch.get(namespace, name));
        }
      },
      log,
      random,
    });
  }

  /** Reports a change, unless its namespace has been read only in part: missing objects would look deleted. */
  #notify(type: ResourceType, previous?: KubeObject, current?: KubeObject): void {
    const { namespace = '' } = (current ?? previous)?.metadata ?? {};
    if (this.#readers.get(namespace)?.isRead !== false) this.#events.onChange(type, previous, current);
  }

  #all(): KindWatch[] {
    return [...this.#watches.values(), ...this.#identities.values()];
  }

  #resourceChanged(type: ResourceType, previous?: KubeObject, current?: KubeObject): void {
    const { namespace = '' } = (current ?? previous)?.metadata ?? {};
    const view = this.#views.get(namespace) ?? new NamespaceView(namespace);
    this.#views.set(namespace, view);
    if (current) view.put(current);
    else if (previous) view.remove(previous);
    for (const { kind, name } of this.#index.change(previous, current)) {
      if (isDataKind(kind)) void this.#referenced.check({ kind, namespace, name });
    }
    if (view.isEmpty) this.#views.delete(namespace);
    this.#notify(type, previous, current);
  }

  #ownedChanged(type: ResourceType, previous?: KubeObject, current?: KubeObject): void {
    this.#owned.get(type.kind)?.change(previous, current);
    this.#notify(type, previous, current);
  }

  async #dataChanged(type: ResourceType, previous?: KubeObject, current?: KubeObject): Promise<void> {
    const { namespace = '', name = '' } = (current ?? previous)?.metadata ?? {};
    const ref = { kind: type.kind as DataKind, namespace, name };
    if (this.#index.referencedKeys(ref) === undefined) return;
    await this.#referenced.check(ref);
    // Report the change even when the read failed: the reconcile retries it.
    this.#notify(type, previous, current);
  }

  #keep({ namespace, name }: DataRef, kept: Data): void {
    const view = this.#views.get(namespace);
    if (kept.kind === 'Secret') view?.setSecret(name, kept.value);
    else view?.setConfigMap(name, kept.value);
  }
}
