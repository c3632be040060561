import { KINDS } from '../../../crds/kinds/index.ts';
import type { KubeObject } from '../../../gateway/kube/resource.ts';
import type { ObjectProblem, ObjectRef } from '../../resolve/problems.ts';
import {
  collections,
  type BrokenObject,
  type ConfigMapData,
  type Resource,
  type SecretMeta,
  type Snapshot,
} from '../../resolve/snapshot.ts';
import { SortedView } from './sorted-view.ts';
import { verdictOf, type Verdict } from './verdict.ts';

interface Judged {
  readonly object: KubeObject;
  readonly verdict: Verdict;
}

/** Snapshot of one namespace, updated with each change. */
export class NamespaceView {
  readonly #namespace: string;
  readonly #judged = new Map<string, Judged>();
  readonly #kinds: ReadonlyMap<string, SortedView<Resource>> = new Map(
    KINDS.map(({ kind }) => [kind, new SortedView<Resource>()]),
  );
  readonly #secrets = new SortedView<SecretMeta>();
  readonly #configMaps = new SortedView<ConfigMapData>();
  readonly #broken = new SortedView<BrokenObject>();
  #snapshot: Snapshot | undefined;

  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  /** Returns an immutable snapshot, the same object until something changes. */
  snapshot(): Snapshot {
    this.#snapshot ??= {
      namespace: this.#namespace,
      ...collections((kind) => this.#kinds.get(kind)?.view() ?? new Map()),
      secrets: this.#secrets.view(),
      configMaps: this.#configMaps.view(),
      hostVariables: new Map(),
      broken: this.#broken.view(),
    };
    return this.#snapshot;
  }

  /** Adds or replaces a custom resource. */
  put(object: KubeObject): void {
    const { kind, metadata } = object;
    const id = `${kind}/${metadata.name}`;
    const verdict = verdictOf(object, this.#judged.get(id));
    this.#judged.set(id, { object, verdict });
    this.#setResource(kind, metadata.name, verdict.is === 'valid' ? verdict.resource : undefined);
    this.#broken.set(id, verdict.is === 'broken' ? verdict.broken : undefined);
    this.#snapshot = undefined;
  }

  /** Removes a custom resource. */
  remove({ kind, metadata: { name } }: KubeObject): void {
    this.#judged.delete(`${kind}/${name}`);
    this.#setResource(kind, name, undefined);
    this.#broken.set(`${kind}/${name}`, undefined);
    this.#snapshot = undefined;
  }

  setSecret(name: string, secret: SecretMeta | undefined): void {
    this.#secrets.set(name, secret);
    this.#snapshot = undefined;
  }

  setConfigMap(name: string, configMap: ConfigMapData | undefined): void {
    this.#configMaps.set(name, configMap);
    this.#snapshot = undefined;
  }

  /** True when the namespace contains no custom resource. */
  get isEmpty(): boolean {
    return this.#judged.size === 0;
  }

  /** Returns the problems of the object itself. */
  problemsOf({ kind, name }: Pick<ObjectRef, 'kind' | 'name'>): ObjectProblem[] {
    const verdict = this.#judged.get(`${kind}/${name}`)?.verdict;
    if (verdict?.is !== 'broken') return [];
    return verdict.problems.map((problem) => ({ kind, namespace: this.#namespace, name, ...problem }));
  }

  /** Returns every custom resource, including invalid ones. */
  refs(): ObjectRef[] {
    return Array.from(this.#judged.values(), ({ object: { kind, metadata } }) => ({
      kind,
      namespace: this.#namespace,
      name: metadata.name,
    }));
  }

  #setResource(kind: string, name: string, resource: Resource | undefined): void {
    this.#kinds.get(kind)?.set(name, resource);
  }
}
