import { Reflector, type ReflectorOptions } from '../../../gateway/kube/reflector.ts';
import type { KubeObject } from '../../../gateway/kube/resource.ts';

export interface KindWatchOptions extends Omit<ReflectorOptions<KubeObject>, 'namespace'> {
  readonly namespaces: 'all' | readonly string[];
}

/** All objects of a kind in the namespaces that are watched. */
export class KindWatch {
  readonly synced: Promise<void>;
  readonly #all: Reflector<KubeObject> | undefined;
  readonly #single: ReadonlyMap<string, Reflector<KubeObject>>;

  constructor({ namespaces, ...options }: KindWatchOptions) {
    this.#all = namespaces === 'all' ? new Reflector(options) : undefined;
    const names = namespaces === 'all' ? [] : namespaces;
    this.#single = new Map(names.map((namespace) => [namespace, new Reflector({ ...options, namespace })]));
    this.synced = Promise.all(this.#reflectors().map(({ synced }) => synced)).then(() => undefined);
  }

  start(): void {
    for (const reflector of this.#reflectors()) reflector.start();
  }

  get(namespace: string | undefined, name: string): KubeObject | undefined {
    return (this.#all ?? this.#single.get(namespace ?? ''))?.get(namespace, name);
  }

  async close(): Promise<void> {
    await Promise.all(this.#reflectors().map((reflector) => reflector.close()));
  }

  #reflectors(): Reflector<KubeObject>[] {
    return [...(this.#all ? [this.#all] : []), ...this.#single.values()];
  }
}
