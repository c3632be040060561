import { Reflector, type ReflectorOptions } from '../../../gateway/kube/reflector.ts';
import type { KubeObject, ResourceType } from '../../../gateway/kube/resource.ts';

export interface KindWatchOptions extends Omit<ReflectorOptions<KubeObject>, 'namespace' | 'onListed'> {
  readonly namespaces: 'all' | readonly string[];
  /** All objects of a namespace, or of all, have been listed; what differs is told next. */
  readonly onListed: (namespace: string | undefined, resourceVersion: string) => void;
}

/** All objects of a kind in the namespaces that are watched. */
export class KindWatch {
  readonly type: ResourceType;
  /** By namespace; undefined: all of them. */
  readonly #reflectors: ReadonlyMap<string | undefined, Reflector<KubeObject>>;

  constructor({ namespaces, onListed, ...options }: KindWatchOptions) {
    this.type = options.type;
    const places = namespaces === 'all' ? [undefined] : namespaces;
    this.#reflectors = new Map(
      places.map((namespace) => {
        const told = onListed.bind(undefined, namespace);
        return [namespace, new Reflector({ ...options, namespace, onListed: told })];
      }),
    );
  }

  /** Begins to watch one of the namespaces, or all; resolves when its objects have been listed. May be called again. */
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
