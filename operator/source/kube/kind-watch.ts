import { Reflector, type ReflectorOptions } from '../../../gateway/kube/reflector.ts';
import type { KubeObject, ResourceType } from '../../../gateway/kube/resource.ts';

export interface KindWatchOptions extends Omit<ReflectorOptions<KubeObject>, 'namespace' | 'onListed' | 'onServed'> {
  readonly namespaces: 'all' | readonly string[];
  /** Called when all objects in a namespace, or in all namespaces, have been listed. Differences are reported next. */
  readonly onListed: (namespace: string | undefined, resourceVersion: string) => void;
  /** Called when the API server has begun or ceased to serve an optional kind in a namespace, or in all. */
  readonly onServed: (namespace: string | undefined) => void;
}

/** Watches all objects of a kind in the watched namespaces. */
export class KindWatch {
  readonly type: ResourceType;
  /** Reflectors by namespace. The key undefined stands for all namespaces. */
  readonly #reflectors: ReadonlyMap<string | undefined, Reflector<KubeObject>>;

  constructor({ namespaces, onListed, onServed, ...options }: KindWatchOptions) {
    this.type = options.type;
    const places = namespaces === 'all' ? [undefined] : namespaces;
    this.#reflectors = new Map(
      places.map((namespace) => {
        const callbacks = {
          onListed: onListed.bind(undefined, namespace),
          onServed: onServed.bind(undefined, namespace),
        };
        return [namespace, new Reflector({ ...options, namespace, ...callbacks })];
      }),
    );
  }

  /** Starts to watch one namespace, or all, and resolves when its objects have been listed. Can be called repeatedly. */
  async read(namespace?: string): Promise<void> {
    const reflector = this.#reflectors.get(namespace);
    reflector?.start();
    await reflector?.synced;
  }

  get(namespace: string | undefined, name: string): KubeObject | undefined {
    return this.#reflectorOf(namespace)?.get(namespace, name);
  }

  /** Returns false while the API server lacks the kind. */
  isServed(namespace: string): boolean {
    return this.#reflectorOf(namespace)?.isServed === true;
  }

  #reflectorOf(namespace: string | undefined): Reflector<KubeObject> | undefined {
    return this.#reflectors.get(undefined) ?? this.#reflectors.get(namespace);
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#reflectors.values(), (reflector) => reflector.close()));
  }
}

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';
/** Kinds whose status is kept: it contains the readiness of a workload, or the verdict of a Gateway on a route. */
const WITH_STATUS: ReadonlySet<string> = new Set(['Deployment', 'StatefulSet', 'HTTPRoute']);

/** Returns the identity and version of an object of a user. Its annotations are dropped: they may contain values of a Secret. */
export function keptIdentity({ apiVersion, kind, metadata }: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion } = metadata;
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      ...(uid !== undefined && { uid }),
      ...(resourceVersion !== undefined && { resourceVersion }),
    },
  };
}

/** Returns an object of the operator without the status, except for kinds that report in it. */
export function keptOwned(object: KubeObject): KubeObject {
  const { status, ...rest } = withoutLastApplied(object);
  return status !== undefined && WITH_STATUS.has(object.kind) ? { ...rest, status } : rest;
}

/** Returns an object without the copy that `kubectl apply` stores in an annotation. */
export function withoutLastApplied(object: KubeObject): KubeObject {
  const { annotations } = object.metadata;
  if (annotations?.[LAST_APPLIED] === undefined) return object;
  const { [LAST_APPLIED]: _, ...others } = annotations;
  return { ...object, metadata: { ...object.metadata, annotations: others } };
}

/** Returns the identity of a namespace and its deletion time. */
export function keptNamespace(object: KubeObject): KubeObject {
  const { deletionTimestamp } = object.metadata;
  const kept = keptIdentity(object);
  return deletionTimestamp === undefined ? kept : { ...kept, metadata: { ...kept.metadata, deletionTimestamp } };
}

/** Index of the objects of one kind by the uid of their controller. */
export class OwnedObjects {
  readonly #owners = new Map<string, Map<string, KubeObject>>();

  of(namespace: string, ownerUid: string): KubeObject[] {
    return [...(this.#owners.get(ownerUid)?.values() ?? [])].filter(({ metadata }) => metadata.namespace === namespace);
  }

  change(previous: KubeObject | undefined, current: KubeObject | undefined): void {
    const before = ownerOf(previous);
    const after = ownerOf(current);
    if (previous && before !== undefined) this.#remove(before, previous);
    if (current && after !== undefined) this.#add(after, current);
  }

  #add(owner: string, object: KubeObject): void {
    let objects = this.#owners.get(owner);
    if (!objects) {
      objects = new Map();
      this.#owners.set(owner, objects);
    }
    objects.set(placeOf(object), object);
  }

  #remove(owner: string, object: KubeObject): void {
    const objects = this.#owners.get(owner);
    objects?.delete(placeOf(object));
    if (objects?.size === 0) this.#owners.delete(owner);
  }
}

const placeOf = ({ metadata: { namespace = '', name } }: KubeObject): string => `${namespace}/${name}`;

const ownerOf = (object: KubeObject | undefined): string | undefined =>
  object?.metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid;
