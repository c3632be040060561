import { isAsNewAs, type KubeObject, type ResourceType } from '../../gateway/kube/resource.ts';

type News = (type: ResourceType, previous: KubeObject | undefined, current: KubeObject | undefined) => void;

/** What came while the object was being written. */
interface Held {
  readonly type: ResourceType;
  readonly previous: KubeObject | undefined;
  readonly current: KubeObject | undefined;
  /** Of everything that came; undefined for that it was gone. */
  readonly versions: readonly (string | undefined)[];
}

interface Entry {
  readonly type: ResourceType;
  readonly object: KubeObject;
  readonly at: number;
}

/** For how long a write counts whose echo did not come: what was listed anew may lack an object that came and went. */
const FORGET_AFTER_MS = 60_000;

/**
 * What was just written, until the watch has brought it: a reconcile that follows closely must not take the old state
 * for the present one and write again.
 */
export class WrittenObjects {
  /** In the order of their times. */
  readonly #entries = new Map<string, Entry>();
  /** What is being written, with the last change that came meanwhile. */
  readonly #underWay = new Map<string, Held | undefined>();
  /** By kind and the namespace that is listed, '' for all: the version of the last list. */
  readonly #lists = new Map<string, string>();
  readonly #now: () => number;
  readonly #onNews: News;

  /** @param onNews takes a change that had been held back as a likely echo, and is none */
  constructor(now: () => number, onNews: News = () => undefined) {
    this.#now = now;
    this.#onNews = onNews;
  }

  /** Sends a write. The watch is often faster with its result than the reply is. */
  async write(type: ResourceType, { metadata }: KubeObject, send: () => Promise<KubeObject>): Promise<KubeObject> {
    const id = idOf(type, metadata.namespace, metadata.name);
    const listedBefore = this.#lastList(type, metadata.namespace);
    let result: KubeObject | undefined;
    this.#underWay.set(id, undefined);
    try {
      result = await send();
      this.#keep(id, type, result);
      return result;
    } finally {
      const held = this.#underWay.get(id);
      this.#underWay.delete(id);
      const written = result?.metadata.resourceVersion;
      const listed = this.#lastList(type, metadata.namespace);
      const isListed = result !== undefined && listed !== listedBefore && isAsNewAs(listed, written);
      // A version from before the reply may be somebody's edit, which the write knew nothing of.
      const isEcho = result && !isListed && (held?.versions.every((version) => version === written) ?? true);
      const known = this.#entries.get(id)?.object.metadata.resourceVersion;
      // What the watch says already needs no memory, nor does an object that it says is gone.
      if (isListed || (held && (!held.current || isAsNewAs(held.current.metadata.resourceVersion, known))))
        this.#entries.delete(id);
      if (held && isEcho !== true) this.#onNews(held.type, held.previous, held.current);
      else if (isListed) this.#onNews(type, result, result);
    }
  }

  /**
   * A list is about to be told, as the difference from what was known. What others did among our own writes is in it
   * too, and of an object that came and went it says nothing: all that was written before counts as news.
   */
  listed({ kind }: ResourceType, namespace: string | undefined, resourceVersion: string): void {
    this.#lists.set(`${kind}/${namespace ?? ''}`, resourceVersion);
    for (const [id, { type, object }] of this.#entries) {
      if (type.kind !== kind || (namespace !== undefined && object.metadata.namespace !== namespace)) continue;
      if (!isAsNewAs(resourceVersion, object.metadata.resourceVersion)) continue;
      this.#entries.delete(id);
      this.#onNews(type, object, object);
    }
  }

  #lastList({ kind }: ResourceType, namespace = ''): string | undefined {
    return this.#lists.get(`${kind}/`) ?? this.#lists.get(`${kind}/${namespace}`);
  }

  #keep(id: string, type: ResourceType, object: KubeObject): void {
    const { managedFields: _, ...metadata } = object.metadata as KubeObject['metadata'] & { managedFields?: unknown };
    const now = this.#now();
    this.#entries.delete(id);
    this.#entries.set(id, { type, object: { ...object, metadata }, at: now });
    // Of a write that changed nothing no echo comes.
    for (const [oldest, { at }] of this.#entries) {
      if (now - at <= FORGET_AFTER_MS) break;
      this.#entries.delete(oldest);
    }
  }

  /** The newer one of what was written last and what the watch last brought. */
  latest(
    type: ResourceType,
    namespace: string | undefined,
    name: string,
    seen: KubeObject | undefined,
  ): KubeObject | undefined {
    const id = idOf(type, namespace, name);
    const entry = this.#entries.get(id);
    if (!entry) return seen;
    const isOld = this.#now() - entry.at > FORGET_AFTER_MS;
    if (!isOld && !(seen && isAsNewAs(seen.metadata.resourceVersion, entry.object.metadata.resourceVersion))) {
      return entry.object;
    }
    this.#entries.delete(id);
    return seen;
  }

  /** What was written for the object with this uid, and the watch may not have brought yet. */
  controlledBy(namespace: string, ownerUid: string): KubeObject[] {
    return Array.from(this.#entries.values(), ({ object }) => object).filter(
      ({ metadata }) =>
        metadata.namespace === namespace &&
        metadata.ownerReferences?.some(({ controller, uid }) => controller === true && uid === ownerUid),
    );
  }

  /**
   * Takes a change from the watch; true when it is no more than the echo of what was written here, or may be: then it
   * is held until the reply tells.
   */
  isEcho(type: ResourceType, previous: KubeObject | undefined, current: KubeObject | undefined): boolean {
    const { namespace, name } = (current ?? previous)?.metadata ?? { name: '' };
    const id = idOf(type, namespace, name);
    const entry = this.#entries.get(id);
    if (this.#underWay.has(id)) {
      const version = current?.metadata.resourceVersion;
      if (entry && version === entry.object.metadata.resourceVersion) return true; // of the write before
      const held = this.#underWay.get(id);
      const versions = [...(held?.versions ?? []), version];
      this.#underWay.set(id, { type, previous: held?.previous ?? previous, current, versions });
      return true;
    }
    if (!entry) return false;
    if (!current) {
      this.#entries.delete(id);
      return false;
    }
    const written = entry.object.metadata.resourceVersion;
    if (isAsNewAs(current.metadata.resourceVersion, written)) this.#entries.delete(id);
    // A version from before the write says nothing that the write did not know or change.
    return current.metadata.resourceVersion === written;
  }

  /** The object is not there, or not as it was written. */
  forget(type: ResourceType, namespace: string | undefined, name: string): void {
    this.#entries.delete(idOf(type, namespace, name));
  }
}

const idOf = ({ kind }: ResourceType, namespace: string | undefined, name: string): string =>
  `${kind}/${namespace ?? ''}/${name}`;
