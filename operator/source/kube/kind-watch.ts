import { Reflector, type ReflectorOptions } from '../../../gateway/kube/reflector.ts';
import type { KubeObject, ResourceType } from '../../../gateway/kube/resource.ts';

export interface KindWatchOptions extends Omit<ReflectorOptions<KubeObject>, 'namespace' | 'onListed'> {
  readonly namespaces: 'all' | readonly string[];
  /** Called when all objects in a namespace, or in all namespaces, have been listed. Differences are reported next. */
  readonly onListed: (namespace: string | undefined, resourceVersion: string) => void;
}

/** Watches all objects of a kind in the watched namespaces. */
export class KindWatch {
  readonly type: ResourceType;
  /** Reflectors by namespace. The key undefined stands for all namespaces. */
  readonly #reflectors: ReadonlyMap<string | undefined, Reflector<KubeObject>>;

  constructor({ namespaces, onListed, ...options }: KindWatchOptions) {
    this.type = options.type;
    const places = namespaces === 'all' ? [undefined] : namespaces;
    this.#reflectors = new Map(
      places.map((namespace) => {
        const onNamespaceListed = onListed.bind(undefined, namespace);
        return [namespace, new Reflector({ ...options, namespace, onListed: onNamespaceListed })];
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
    return (this.#reflectors.get(undefined) ?? this.#reflectors.get(namespace))?.get(namespace, name);
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#reflectors.values(), (reflector) => reflector.close()));
  }
}
