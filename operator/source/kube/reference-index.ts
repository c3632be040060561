import type { KubeObject } from '../../../gateway/kube/resource.ts';
import { refKey, type ObjectRef } from '../../resolve/scope.ts';
import { references, type Reference } from '../../resolve/references.ts';
import type { Resource } from '../../resolve/snapshot.ts';
import { isSameSpec } from './namespace-view.ts';

/** Reference of a custom resource to an object. */
interface KeyUse {
  readonly referrer: ObjectRef;
  /** Referenced keys. Undefined means the whole object. */
  readonly keys: ReadonlySet<string> | undefined;
}

/** Keys of an object that custom resources refer to. */
export type ReferencedKeys = ReadonlySet<string> | 'all';

/** Index of the references from custom resources to other objects. */
export class ReferenceIndex {
  readonly #targets = new Map<string, Map<string, KeyUse>>();

  /** Applies a change of a custom resource. Returns the targets whose references or keys changed. */
  change(previous: KubeObject | undefined, current: KubeObject | undefined): ObjectRef[] {
    if (previous && current && isSameSpec(previous, current)) return [];
    const before = usesOf(previous);
    const after = usesOf(current);
    for (const target of before.keys())
      if (!after.has(target)) this.#remove(target, refKey(refOf(previous as KubeObject)));
    for (const [target, { use }] of after) this.#add(target, use);
    const changed = [...before, ...after].filter(
      ([target]) => !sameKeys(before.get(target)?.use, after.get(target)?.use),
    );
    return [...new Map(changed.map(([target, { ref }]) => [target, ref])).values()];
  }

  referrersOf(target: ObjectRef): ObjectRef[] {
    return Array.from(this.#targets.get(refKey(target))?.values() ?? [], ({ referrer }) => referrer);
  }

  /** Returns the referenced keys of an object, or undefined when nothing refers to it. */
  referencedKeys(target: ObjectRef): ReferencedKeys | undefined {
    const uses = this.#targets.get(refKey(target));
    if (!uses) return undefined;
    const keys = new Set<string>();
    for (const use of uses.values()) {
      if (!use.keys) return 'all';
      for (const key of use.keys) keys.add(key);
    }
    return keys;
  }

  #add(target: string, use: KeyUse): void {
    let uses = this.#targets.get(target);
    if (!uses) {
      uses = new Map();
      this.#targets.set(target, uses);
    }
    uses.set(refKey(use.referrer), use);
  }

  #remove(target: string, referrer: string): void {
    const uses = this.#targets.get(target);
    uses?.delete(referrer);
    if (uses?.size === 0) this.#targets.delete(target);
  }
}

export const refOf = ({ kind, metadata: { namespace = '', name } }: KubeObject): ObjectRef => ({
  kind,
  namespace,
  name,
});

function usesOf(object: KubeObject | undefined): Map<string, { readonly ref: ObjectRef; readonly use: KeyUse }> {
  if (!object) return new Map();
  const referrer = refOf(object);
  // An invalid resource has references as well: `references` ignores fields that it does not know.
  const found = Map.groupBy(references(object as unknown as Resource), ({ target, name }) =>
    refKey({ kind: target, namespace: referrer.namespace, name }),
  );
  return new Map(
    [...found].map(([target, uses]) => {
      const [{ target: kind, name }] = uses as [Reference];
      const ref = { kind, namespace: referrer.namespace, name };
      const whole = uses.some(({ key }) => key === undefined);
      return [
        target,
        { ref, use: { referrer, keys: whole ? undefined : new Set(uses.flatMap(({ key }) => key ?? [])) } },
      ];
    }),
  );
}

function sameKeys(a: KeyUse | undefined, b: KeyUse | undefined): boolean {
  if (!a || !b) return a === b;
  if (!a.keys || !b.keys) return a.keys === b.keys;
  return a.keys.size === b.keys.size && [...a.keys].every((key) => b.keys?.has(key) === true);
}
