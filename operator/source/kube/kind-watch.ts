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
