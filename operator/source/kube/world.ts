import type { KubeClient } from '../../../gateway/kube/client.ts';
import { RESOURCES, type KubeObject, type ResourceType } from '../../../gateway/kube/resource.ts';
import type { ObjectProblem, ObjectRef } from '../../resolve/problems.ts';
import { newSnapshot, type Snapshot } from '../../resolve/snapshot.ts';
import { KindWatch, type KindWatchOptions } from './kind-watch.ts';
import { keptIdentity, keptNamespace, keptOwned, withoutLastApplied } from './kept.ts';
import { NamespaceReader } from './namespace-reader.ts';
import { NamespaceView } from './namespace-view.ts';
import { OwnedObjects } from './owned-objects.ts';
import { ReferenceIndex } from './reference-index.ts';
import { ReferencedData, type Data, type DataRef } from './referenced-data.ts';
import { DATA_TYPES, isDataKind, OWN_TYPES, OWNED_SELECTOR, type DataKind } from './watched-kinds.ts';
import type { Logger } from '../../../gateway/contract/logger.ts';

/** Everything that the operator sees. Whatever is read here is there already: nothing waits but what says so. */
export interface World {
  /** When every kind has been listed; of single namespaces those are not waited for that may not be read. */
  readonly synced: Promise<void>;
  /** The same object until something of the namespace changes; it never changes itself. */
  snapshot(namespace: string): Snapshot;
  /** What is wrong with a custom resource by itself, however it got past the API server. */
  problemsOf(ref: ObjectRef): readonly ObjectProblem[];
  /** A custom resource, or an object that the operator made, as last seen. */
  raw(type: ResourceType, namespace: string, name: string): KubeObject | undefined;
  /** The objects of a kind that the object with this uid controls. */
  owned(type: ResourceType, namespace: string, ownerUid: string): readonly KubeObject[];
  /** Custom resources that name `target`. */
  referrersOf(target: ObjectRef): readonly ObjectRef[];
  /** The groups that a member names: one or none. */
  groupsOf(member: ObjectRef): readonly string[];
  /** Every custom resource of a namespace. */
  keysIn(namespace: string): readonly ObjectRef[];
  /**
   * Resolves when the snapshot holds every Secret and ConfigMap that the custom resources refer to as it is now.
   * @throws ApiError when one cannot be read
   */
  referencesReady(namespace: string): Promise<void>;
  /** Never known where only single namespaces are watched. */
  namespaceIsTerminating(namespace: string): boolean;
  close(): Promise<void>;
}

export interface WorldEvents {
  /**
   * After the world has it, and all else of its namespace. A Secret or ConfigMap is told of only if a custom resource
   * refers to it, and when its keys have been read; just its identity is there.
   */
  onChange(type: ResourceType, previous: KubeObject | undefined, current: KubeObject | undefined): void;
  /** All objects of a kind, in one namespace or in all, have been listed; what differs is told next. */
  onListed?(type: ResourceType, namespace: string | undefined, resourceVersion: string): void;
}

export interface WorldOptions {
  readonly client: KubeClient;
  readonly namespaces: 'all' | readonly string[];
  /** Types of the objects that the operator creates. */
  readonly ownedTypes: readonly ResourceType[];
  readonly events: WorldEvents;
  readonly log: Logger;
  /** ms, on a clock that only goes forward. */
  readonly now: () => number;
  /** From 0 to 1. */
  readonly random: () => number;
}

type Take = (type: ResourceType, previous?: KubeObject, current?: KubeObject) => void;

/** Begins to watch. */
export function startWorld(options: WorldOptions): World {
  const world = new WatchedWorld(options);
  world.start();
  return world;
}

class WatchedWorld implements World {
  readonly #synced = Promise.withResolvers<undefined>();
  readonly synced: Promise<void> = this.#synced.promise;
  readonly #events: WorldEvents;
  readonly #views = new Map<string, NamespaceView>();
  readonly #index = new ReferenceIndex();
  readonly #owned: ReadonlyMap<string, OwnedObjects>;
  readonly #referenced: ReferencedData;
  /** By kind: the custom resources, what the operator made, and namespaces. */
  readonly #watches: ReadonlyMap<string, KindWatch>;
  /** By kind: which Secrets and ConfigMaps there are. */
  readonly #identities: ReadonlyMap<string, KindWatch>;
  /** By namespace, where only single ones are watched. */
  readonly #readers: ReadonlyMap<string, NamespaceReader>;

  constructor(options: WorldOptions) {
    const { client, namespaces, ownedTypes, events } = options;
    this.#events = events;
    this.#owned = new Map(ownedTypes.map(({ kind }) => [kind, new OwnedObjects()]));
    const watch = (type: ResourceType, how: Partial<KindWatchOptions>, taken: Take): [string, KindWatch] => {
      const onChange = (previous?: KubeObject, current?: KubeObject) => {
        taken(type, previous, current);
      };
      const onListed = (namespace: string | undefined, version: string) => events.onListed?.(type, namespace, version);
      return [type.kind, new KindWatch({ ...options, ...how, type, onChange, onListed })];
    };
    const told: Take = this.#tell.bind(this);
    const own: Take = this.#ownChanged.bind(this);
    const made: Take = this.#madeChanged.bind(this);
    const data: Take = (...change) => void this.#dataChanged(...change);
    this.#watches = new Map([
      ...OWN_TYPES.map((type) => watch(type, { transform: withoutLastApplied }, own)),
      ...ownedTypes.map((type) => watch(type, { labelSelector: OWNED_SELECTOR, transform: keptOwned }, made)),
      // A Role of one namespace cannot allow to watch that namespace itself.
      ...(namespaces === 'all'
        ? [watch(RESOURCES.Namespace, { metadataOnly: true, transform: keptNamespace }, told)]
        : []),
    ]);
    this.#identities = new Map(
      Object.values(DATA_TYPES).map((type) => watch(type, { metadataOnly: true, transform: keptIdentity }, data)),
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

  referrersOf(target: ObjectRef): readonly ObjectRef[] {
    return this.#index.referrersOf(target);
  }

  groupsOf({ kind, namespace, name }: ObjectRef): readonly string[] {
    const group = groupOf(this.#watches.get(kind)?.get(namespace, name));
    return group === undefined ? [] : [group];
  }

  keysIn(namespace: string): readonly ObjectRef[] {
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

  #reader(namespace: string, { client, log, random }: WorldOptions): NamespaceReader {
    return new NamespaceReader({
      client,
      namespace,
      types: this.#all().map(({ type }) => type),
      watch: () => Promise.all(this.#all().map((watch) => watch.read(namespace))),
      onRead: () => {
        for (const { kind, name } of this.keysIn(namespace)) {
          const watch = this.#watches.get(kind);
          if (watch) this.#tell(watch.type, undefined, watch.get(namespace, name));
        }
      },
      log,
      random,
    });
  }

  /** Of a namespace that has been read in part nothing is told: whoever acted on it would take the rest for deleted. */
  #tell(type: ResourceType, previous?: KubeObject, current?: KubeObject): void {
    const { namespace = '' } = (current ?? previous)?.metadata ?? {};
    if (this.#readers.get(namespace)?.isRead !== false) this.#events.onChange(type, previous, current);
  }

  #all(): KindWatch[] {
    return [...this.#watches.values(), ...this.#identities.values()];
  }

  #ownChanged(type: ResourceType, previous?: KubeObject, current?: KubeObject): void {
    const { namespace = '' } = (current ?? previous)?.metadata ?? {};
    const view = this.#views.get(namespace) ?? new NamespaceView(namespace);
    this.#views.set(namespace, view);
    if (current) view.put(current);
    else if (previous) view.remove(previous);
    for (const { kind, name } of this.#index.change(previous, current)) {
      if (isDataKind(kind)) void this.#referenced.check({ kind, namespace, name });
    }
    if (view.isEmpty) this.#views.delete(namespace);
    this.#tell(type, previous, current);
  }

  #madeChanged(type: ResourceType, previous?: KubeObject, current?: KubeObject): void {
    this.#owned.get(type.kind)?.change(previous, current);
    this.#tell(type, previous, current);
  }

  async #dataChanged(type: ResourceType, previous?: KubeObject, current?: KubeObject): Promise<void> {
    const { namespace = '', name = '' } = (current ?? previous)?.metadata ?? {};
    const ref = { kind: type.kind as DataKind, namespace, name };
    if (this.#index.wantedKeys(ref) === undefined) return;
    await this.#referenced.check(ref);
    // Also when it could not be read: who reconciles will ask again, and again.
    this.#tell(type, previous, current);
  }

  #keep({ namespace, name }: DataRef, kept: Data): void {
    const view = this.#views.get(namespace);
    if (kept.kind === 'Secret') view?.setSecret(name, kept.value);
    else view?.setConfigMap(name, kept.value);
  }
}

const groupOf = (object: KubeObject | undefined): string | undefined => {
  const name = (object?.['spec'] as { groupRef?: { name?: unknown } } | undefined)?.groupRef?.name;
  return typeof name === 'string' ? name : undefined;
};
