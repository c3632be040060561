import { isAsNewAs, type KubeObject, type ResourceType } from '../../gateway/kube/resource.ts';

type News = (type: ResourceType, previous: KubeObject | undefined, current: KubeObject | undefined) => void;

/** Watch events of an object received during its write. */
interface Held {
  readonly type: ResourceType;
  readonly previous: KubeObject | undefined;
  readonly current: KubeObject | undefined;
  /** Versions of all events; undefined for a deletion. */
  readonly versions: readonly (string | undefined)[];
}

interface Entry {
  readonly type: ResourceType;
  readonly object: KubeObject;
  readonly at: number;
}

/** Lifetime of a write without an echo: a new list can lack an object that was created and deleted in between. */
const FORGET_AFTER_MS = 60_000;

/**
 * Remembers written objects until the watch reports them, so that the next reconcile does not read the old state and
 * write again.
 */
export class WrittenObjects {
  /** Entries in the order of their times. */
  readonly #entries = new Map<string, Entry>();
  /** Running writes, with the watch events received since. */
  readonly #writing = new Map<string, Held | undefined>();
  /** Version of the last list, by kind and listed namespace ('' for all). */
  readonly #lists = new Map<string, string>();
  readonly #now: () => number;
  readonly #onNews: News;

  /** @param onNews receives a change that was held back as a possible echo but is not one */
  constructor(now: () => number, onNews: News = () => undefined) {
    this.#now = now;
    this.#onNews = onNews;
  }

  /** Sends a write. The watch often reports the result before the reply arrives. */
  async write(type: ResourceType, { metadata }: KubeObject, send: () => Promise<KubeObject>): Promise<KubeObject> {
    const id = idOf(type, metadata.namespace, metadata.name);
    const listedBefore = this.#lastList(type, metadata.namespace);
    let result: KubeObject | undefined;
    this.#writing.set(id, undefined);
    try {
      result = await send();
      this.#keep(id, type, result);
      return result;
    } finally {
      const held = this.#writing.get(id);
      this.#writing.delete(id);
      const written = result?.metadata.resourceVersion;
      const listed = this.#lastList(type, metadata.namespace);
      const isListed = result !== undefined && listed !== listedBefore && isAsNewAs(listed, written);
      // An earlier version can be an edit by someone else, which the write did not include.
      const isEcho = result && !isListed && (held?.versions.every((version) => version === written) ?? true);
      const known = this.#entries.get(id)?.object.metadata.resourceVersion;
      // Objects that the watch has reported, as present or deleted, are forgotten.
      if (isListed || (held && (!held.current || isAsNewAs(held.current.metadata.resourceVersion, known))))
        this.#entries.delete(id);
      if (held && isEcho !== true) this.#onNews(held.type, held.previous, held.current);
      else if (isListed) this.#onNews(type, result, result);
    }
  }

  /**
   * Handles a new list before its differences are reported. The list includes changes by others and omits objects that
   * were created and deleted in between, so all earlier writes are reported as changes.
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
    // A write without effect has no echo.
    for (const [oldest, { at }] of this.#entries) {
      if (now - at <= FORGET_AFTER_MS) break;
      this.#entries.delete(oldest);
    }
  }

  /** Returns the newer of the last written and the last watched object. */
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

  /** Lists objects written for the owner with this uid that the watch may not have reported yet. */
  controlledBy(namespace: string, ownerUid: string): KubeObject[] {
    return Array.from(this.#entries.values(), ({ object }) => object).filter(
      ({ metadata }) =>
        metadata.namespace === namespace &&
        metadata.ownerReferences?.some(({ controller, uid }) => controller === true && uid === ownerUid),
    );
  }

  /**
   * Returns true when a watch event is the echo of a write by this process, or could be: it is then held back until the
   * reply of the write arrives.
   */
  isEcho(type: ResourceType, previous: KubeObject | undefined, current: KubeObject | undefined): boolean {
    const { namespace, name } = (current ?? previous)?.metadata ?? { name: '' };
    const id = idOf(type, namespace, name);
    const entry = this.#entries.get(id);
    if (this.#writing.has(id)) {
      const version = current?.metadata.resourceVersion;
      if (entry && version === entry.object.metadata.resourceVersion) return true; // echo of the previous write
      const held = this.#writing.get(id);
      const versions = [...(held?.versions ?? []), version];
      this.#writing.set(id, { type, previous: held?.previous ?? previous, current, versions });
      return true;
    }
    if (!entry) return false;
    if (!current) {
      this.#entries.delete(id);
      return false;
    }
    const written = entry.object.metadata.resourceVersion;
    if (isAsNewAs(current.metadata.resourceVersion, written)) this.#entries.delete(id);
    // An earlier version contains nothing that the write did not include or change.
    return current.metadata.resourceVersion === written;
  }

  /** Forgets an object that is missing or was changed since the write. */
  forget(type: ResourceType, namespace: string | undefined, name: string): void {
    this.#entries.delete(idOf(type, namespace, name));
  }
}

const idOf = ({ kind }: ResourceType, namespace: string | undefined, name: string): string =>
  `${kind}/${namespace ?? ''}/${name}`;
