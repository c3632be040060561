import { ApiError } from '../../../gateway/kube/client.ts';
import type { KubeObject, ResourceType } from '../../../gateway/kube/resource.ts';
import type { Seen, Writer } from '../apply.ts';

interface Refusal {
  readonly status: number;
  readonly reason: string;
  readonly message: string;
}

const idOf = (kind: string, namespace: string | undefined, name: string): string => `${kind}/${namespace ?? ''}/${name}`;

/**
 * Minimal API server for objects: preconditions, versions and merges of applied objects. The watch reports every object
 * at once, unless it is held.
 */
export class ObjectServer implements Writer, Seen {
  readonly objects = new Map<string, KubeObject>();
  readonly writes: string[] = [];
  /** Errors to return instead of writing, by kind. */
  readonly refusals = new Map<string, Refusal>();
  /** Stands for defaulting and admission: changes each object before it is stored. */
  normalize: (object: KubeObject) => KubeObject = (object) => object;
  #watched: Map<string, KubeObject> | undefined;
  #version = 100;

  /** Holds the watch. */
  holdWatch(): void {
    this.#watched = new Map(this.objects);
  }

  resumeWatch(): void {
    this.#watched = undefined;
  }

  put(object: KubeObject): KubeObject {
    this.#version += 1;
    const { metadata } = object;
    const uid = metadata.uid ?? `uid-${String(this.#version)}`;
    const stored = { ...object, metadata: { ...metadata, uid, resourceVersion: String(this.#version) } };
    this.objects.set(idOf(object.kind, metadata.namespace, metadata.name), stored);
    return stored;
  }

  find(kind: string, name: string): KubeObject | undefined {
    return this.objects.get(idOf(kind, 'team', name));
  }

  raw({ kind }: ResourceType, namespace: string, name: string): KubeObject | undefined {
    const object = (this.#watched ?? this.objects).get(idOf(kind, namespace, name));
    // The watch selects by this label.
    return object?.metadata.labels?.['app.kubernetes.io/managed-by'] === 'vmcp-operator' ? object : undefined;
  }

  owned({ kind }: ResourceType, namespace: string, ownerUid: string): readonly KubeObject[] {
    return [...(this.#watched ?? this.objects).values()].filter(
      (object) =>
        object.kind === kind &&
        object.metadata.namespace === namespace &&
        object.metadata.ownerReferences?.some(({ controller, uid }) => controller === true && uid === ownerUid),
    );
  }

  get({ kind }: ResourceType, namespace: string, name: string): Promise<KubeObject | undefined> {
    return Promise.resolve(this.objects.get(idOf(kind, namespace, name)));
  }

  async apply(object: KubeObject): Promise<KubeObject> {
    const { namespace, name, uid, resourceVersion, ...metadata } = object.metadata;
    this.writes.push(`apply ${object.kind}/${name}`);
    const refusal = this.refusals.get(object.kind);
    if (refusal) throw new ApiError(refusal);
    const live = this.objects.get(idOf(object.kind, namespace, name));
    const isStale =
      (uid !== undefined && uid !== live?.metadata.uid) ||
      (live && resourceVersion !== undefined && resourceVersion !== live.metadata.resourceVersion);
    if (isStale) this.onConflict();
    if (isStale) throw new ApiError({ status: 409, reason: 'Conflict', message: 'the object has been modified' });
    const { uid: liveUid } = live?.metadata ?? {};
    const merged = {
      ...live,
      ...object,
      metadata: {
        ...live?.metadata,
        ...metadata,
        ...(namespace !== undefined && { namespace }),
        name,
        ...(liveUid !== undefined && { uid: liveUid }),
        annotations: { ...live?.metadata.annotations, ...metadata.annotations },
        labels: { ...live?.metadata.labels, ...metadata.labels },
      },
    };
    return this.put(this.normalize(merged));
  }

  onConflict: () => void = () => undefined;
  onPatch: () => void = () => undefined;

  async mergePatch({ kind }: ResourceType, namespace: string, name: string, patch: object): Promise<KubeObject> {
    this.writes.push(`patch ${kind}/${name}`);
    this.onPatch();
    const live = this.objects.get(idOf(kind, namespace, name));
    if (!live) throw new ApiError({ status: 404, reason: 'NotFound', message: 'none' });
    const { spec, metadata } = patch as { spec?: object; metadata?: object };
    return this.put({
      ...live,
      metadata: { ...live.metadata, ...metadata },
      spec: { ...(live['spec'] as object), ...spec },
    });
  }

  async delete({ kind }: ResourceType, namespace: string, name: string, { uid }: { uid?: string }): Promise<void> {
    this.writes.push(`delete ${kind}/${name}`);
    const live = this.objects.get(idOf(kind, namespace, name));
    if (live && uid !== undefined && live.metadata.uid !== uid) {
      throw new ApiError({ status: 409, reason: 'Conflict', message: 'another uid' });
    }
    this.objects.delete(idOf(kind, namespace, name));
  }
}
