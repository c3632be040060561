import type { KubeObject } from './resource.ts';

/** Object before and after; `undefined` when it did not exist. */
export type Change<T> = readonly [previous: T | undefined, current: T | undefined];

/** Objects of one kind by namespace and name. */
export class ObjectStore<T extends KubeObject> {
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
