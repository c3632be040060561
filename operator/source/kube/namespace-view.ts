import { KINDS } from '../../../crds/kinds/index.ts';
import type { KubeObject } from '../../../gateway/kube/resource.ts';
import type { ObjectProblem, ObjectRef } from '../../resolve/scope.ts';
import {
  collections,
  type BrokenObject,
  type ConfigMapData,
  type Resource,
  type SecretMeta,
  type Snapshot,
  compareText,
} from '../../resolve/snapshot.ts';
import { isMemberKind } from '../../../crds/kinds/roles.ts';
import { validateObject, withDefaults } from '../../../crds/kinds/validate.ts';
import type { Problem } from '../../../gateway/contract/problem.ts';

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

/** Values sorted by name. `view` returns an immutable snapshot. */
export class SortedView<T> {
  #view: ReadonlyMap<string, T> = new Map();
  /** Changes since the last snapshot. Undefined marks a removed value. */
  readonly #changes = new Map<string, T | undefined>();

  set(name: string, value: T | undefined): void {
    if (value === undefined && !this.#view.has(name)) this.#changes.delete(name);
    else this.#changes.set(name, value);
  }

  view(): ReadonlyMap<string, T> {
    if (this.#changes.size === 0) return this.#view;
    this.#view = this.#hasSameNames() ? this.#withReplacedValues() : this.#withMergedNames();
    this.#changes.clear();
    return this.#view;
  }

  #hasSameNames(): boolean {
    return [...this.#changes].every(([name, value]) => value !== undefined && this.#view.has(name));
  }

  #withReplacedValues(): ReadonlyMap<string, T> {
    const view = new Map(this.#view);
    for (const [name, value] of this.#changes) view.set(name, value as T);
    return view;
  }

  #withMergedNames(): ReadonlyMap<string, T> {
    const addedNames = [...this.#changes.keys()].filter((name) => !this.#view.has(name)).sort(compareText);
    const view = new Map<string, T>();
    const put = (name: string, value: T | undefined): void => {
      if (value !== undefined) view.set(name, value);
    };
    let next = 0;
    for (const [name, value] of this.#view) {
      for (let added = addedNames[next]; added !== undefined && added < name; added = addedNames[next]) {
        put(added, this.#changes.get(added));
        next += 1;
      }
      put(name, this.#changes.has(name) ? this.#changes.get(name) : value);
    }
    for (const added of addedNames.slice(next)) put(added, this.#changes.get(added));
    return view;
  }
}

/** Result of the validation of a custom resource. */
type Verdict =
  | { readonly is: 'valid'; readonly resource: Resource }
  | { readonly is: 'broken'; readonly broken: BrokenObject; readonly problems: readonly Problem[] };

/**
 * Validates an object of the API server by the same rules as files: an older CRD may have accepted it. The status, and
 * the metadata except for the name, are not validated.
 * @param earlier the object before this change and its verdict, which is reused while the spec is the same
 */
function verdictOf(object: KubeObject, earlier?: { object: KubeObject; verdict: Verdict }): Verdict {
  if (earlier && isSameSpec(object, earlier.object)) return withEarlierVerdict(object, earlier.verdict);
  const { apiVersion, kind, metadata } = object;
  const validated = { apiVersion, kind, metadata: { name: metadata.name }, spec: object['spec'] };
  const problems = validateObject(kind, validated);
  if (problems.length > 0) return { is: 'broken', broken: brokenObject(object), problems };
  const { spec } = withDefaults(kind, validated);
  // The API server usually adds the defaults. Then the object is used as it is, to save memory.
  const complete = JSON.stringify(spec) === JSON.stringify(object['spec']) ? object : { ...object, spec };
  return { is: 'valid', resource: complete as unknown as Resource };
}

/** Returns true when two versions have the same spec: the generation of a custom resource counts changes of its spec. */
export const isSameSpec = ({ metadata: a }: KubeObject, { metadata: b }: KubeObject): boolean =>
  a.uid !== undefined && a.uid === b.uid && a.generation !== undefined && a.generation === b.generation;

function withEarlierVerdict(object: KubeObject, verdict: Verdict): Verdict {
  if (verdict.is === 'broken') return verdict;
  const { spec } = verdict.resource;
  return { is: 'valid', resource: { ...object, spec } as unknown as Resource };
}

function brokenObject({ kind, metadata: { name }, spec }: KubeObject): BrokenObject {
  const group = (spec as { groupRef?: { name?: unknown } } | undefined)?.groupRef?.name;
  return { kind, name, ...(isMemberKind(kind) && typeof group === 'string' && { group }) };
}
