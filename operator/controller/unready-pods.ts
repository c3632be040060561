import { RESOURCES, type KubeObject, type ResourceType } from '../../gateway/kube/resource.ts';
import { nextPauseMs } from '../../gateway/kit/time.ts';

export interface PodLister {
  list(
    type: ResourceType,
    options: { namespace: string; labelSelector: string; limit?: number },
  ): Promise<{ items: KubeObject[] }>;
}

interface Entry {
  /** Generation of the workload. */
  readonly generation: number | undefined;
  nextReadAt: number;
  /** True when `nextReadAt` is a slot among the workloads that were due at the same time. */
  hasSlot: boolean;
  waitMs: number;
  pods: readonly KubeObject[] | undefined;
}

export interface PodsRead {
  /** Absent until the pods have been read. */
  readonly pods?: readonly KubeObject[];
  /** Time until the next read. Absent when the workload is ready. */
  readonly retryInMs?: number;
}

const FIRST_READ_MS = 10_000;
const MAX_WAIT_MS = 300_000;
/** Time between the reads of two workloads, so that many failing ones cause no burst. */
const READ_SPACING_MS = 200;
const MAX_PODS = 50;

interface WorkloadFields {
  readonly spec?: { readonly replicas?: number; readonly selector?: { readonly matchLabels?: Record<string, string> } };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly updatedReplicas?: number;
    readonly readyReplicas?: number;
    readonly unavailableReplicas?: number;
  };
}

const fieldsOf = (workload: KubeObject): WorkloadFields => workload as WorkloadFields;

/** Returns true when all desired pods exist and are ready. */
export function isUp(workload: KubeObject): boolean {
  const { spec, status } = fieldsOf(workload);
  const desired = spec?.replicas ?? 1;
  return (
    status?.observedGeneration === workload.metadata.generation &&
    (status?.updatedReplicas ?? 0) >= desired &&
    (status?.readyReplicas ?? 0) >= desired &&
    (status?.unavailableReplicas ?? 0) === 0
  );
}

/**
 * Reads the pods of workloads that do not become ready: after 10 s, and then at growing intervals. The pods contain the
 * reason. Watching all pods of a cluster would cost far more.
 */
export class UnreadyPods {
  readonly #client: PodLister;
  readonly #now: () => number;
  /** By uid of the workload. */
  readonly #entries = new Map<string, Entry>();
  #nextSlotAt = 0;

  constructor(client: PodLister, now: () => number) {
    this.#client = client;
    this.#now = now;
  }

  async of(workload: KubeObject): Promise<PodsRead> {
    const { uid = '', generation } = workload.metadata;
    if (isUp(workload)) {
      this.#entries.delete(uid);
      return {};
    }
    const entry = this.#entry(uid, generation);
    if (entry.nextReadAt <= this.#now() && this.#takeSlot(entry)) {
      entry.pods = await this.#list(workload);
      entry.waitMs = nextPauseMs(entry.waitMs, MAX_WAIT_MS);
      entry.nextReadAt = this.#now() + entry.waitMs;
    }
    return { retryInMs: Math.max(1, entry.nextReadAt - this.#now()), ...(entry.pods && { pods: entry.pods }) };
  }

  #takeSlot(entry: Entry): boolean {
    if (!entry.hasSlot) {
      entry.nextReadAt = Math.max(this.#now(), this.#nextSlotAt);
      this.#nextSlotAt = entry.nextReadAt + READ_SPACING_MS;
    }
    entry.hasSlot = entry.nextReadAt > this.#now();
    return !entry.hasSlot;
  }

  /** Forgets a deleted workload. */
  forget(workload: KubeObject): void {
    this.#entries.delete(workload.metadata.uid ?? '');
  }

  #entry(uid: string, generation: number | undefined): Entry {
    const known = this.#entries.get(uid);
    if (known && known.generation === generation) return known;
    const nextReadAt = this.#now() + FIRST_READ_MS;
    const entry: Entry = { generation, nextReadAt, hasSlot: false, waitMs: FIRST_READ_MS / 2, pods: undefined };
    this.#entries.set(uid, entry);
    return entry;
  }

  async #list(workload: KubeObject): Promise<readonly KubeObject[]> {
    const labels = fieldsOf(workload).spec?.selector?.matchLabels ?? {};
    const labelSelector = Object.entries(labels)
      .map(([name, value]) => `${name}=${value}`)
      .join(',');
    const { namespace = '' } = workload.metadata;
    const { items } = await this.#client.list(RESOURCES.Pod, { namespace, labelSelector, limit: MAX_PODS });
    return items.map(withStatusAlone);
  }
}

/** Keeps only the name and the status of a pod, because many pods may be kept. */
function withStatusAlone({ metadata: { name }, status }: KubeObject): KubeObject {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name }, status };
}
