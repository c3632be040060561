import type { KubeObject } from '../../../gateway/kube/resource.ts';

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
