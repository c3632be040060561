import { RESOURCES, type KubeObject, type ResourceType } from '../../gateway/kube/resource.ts';

export interface PodLister {
  list(
    type: ResourceType,
    options: { namespace: string; labelSelector: string; limit?: number },
  ): Promise<{ items: KubeObject[] }>;
}

interface Entry {
  /** Generation of the workload that this is about. */
  readonly generation: number | undefined;
  lookAt: number;
  /** `lookAt` is a turn among those that were due at once. */
  hasTurn: boolean;
  waitMs: number;
  pods: readonly KubeObject[] | undefined;
}

export interface PodsSeen {
  /** Undefined: nobody has looked yet. */
  readonly pods?: readonly KubeObject[];
  /** Look again after so long; absent when the workload is as it should be. */
  readonly againInMs?: number;
}

const FIRST_LOOK_MS = 10_000;
const LAST_WAIT_MS = 300_000;
/** Between the looks at any two workloads: of many that fail at once each waits for its turn. */
const TURN_MS = 200;
const MOST_PODS = 50;

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

/** Whether all pods that are wanted are there and ready. */
export function isUp(workload: KubeObject): boolean {
  const { spec, status } = fieldsOf(workload);
  const wanted = spec?.replicas ?? 1;
  return (
    status?.observedGeneration === workload.metadata.generation &&
    (status?.updatedReplicas ?? 0) >= wanted &&
    (status?.readyReplicas ?? 0) >= wanted &&
    (status?.unavailableReplicas ?? 0) === 0
  );
}

/**
 * Why a workload does not come up stands in its pods. Those of one that has had 10 s are read, then ever more rarely:
 * watching all pods of a cluster for the few that fail would cost more than everything else.
 */
export class UnreadyPods {
  readonly #client: PodLister;
  readonly #now: () => number;
  /** By uid of the workload. */
  readonly #entries = new Map<string, Entry>();
  #nextTurn = 0;

  constructor(client: PodLister, now: () => number) {
    this.#client = client;
    this.#now = now;
  }

  async of(workload: KubeObject): Promise<PodsSeen> {
    const { uid = '', generation } = workload.metadata;
    if (isUp(workload)) {
      this.#entries.delete(uid);
      return {};
    }
    const entry = this.#entry(uid, generation);
    if (entry.lookAt <= this.#now() && this.#isItsTurn(entry)) {
      entry.pods = await this.#list(workload);
      entry.waitMs = Math.min(LAST_WAIT_MS, entry.waitMs * 2);
      entry.lookAt = this.#now() + entry.waitMs;
    }
    return { againInMs: Math.max(1, entry.lookAt - this.#now()), ...(entry.pods && { pods: entry.pods }) };
  }

  #isItsTurn(entry: Entry): boolean {
    if (!entry.hasTurn) {
      entry.lookAt = Math.max(this.#now(), this.#nextTurn);
      this.#nextTurn = entry.lookAt + TURN_MS;
    }
    entry.hasTurn = entry.lookAt > this.#now();
    return !entry.hasTurn;
  }

  /** The workload is gone. */
  forget(workload: KubeObject): void {
    this.#entries.delete(workload.metadata.uid ?? '');
  }

  #entry(uid: string, generation: number | undefined): Entry {
    const known = this.#entries.get(uid);
    if (known && known.generation === generation) return known;
    const lookAt = this.#now() + FIRST_LOOK_MS;
    const entry: Entry = { generation, lookAt, hasTurn: false, waitMs: FIRST_LOOK_MS / 2, pods: undefined };
    this.#entries.set(uid, entry);
    return entry;
  }

  async #list(workload: KubeObject): Promise<readonly KubeObject[]> {
    const labels = fieldsOf(workload).spec?.selector?.matchLabels ?? {};
    const labelSelector = Object.entries(labels)
      .map(([name, value]) => `${name}=${value}`)
      .join(',');
    const { namespace = '' } = workload.metadata;
    const { items } = await this.#client.list(RESOURCES.Pod, { namespace, labelSelector, limit: MOST_PODS });
    return items.map(withStatusAlone);
  }
}

/** Nothing else of a pod is read, and many may be kept. */
function withStatusAlone({ metadata: { name }, status }: KubeObject): KubeObject {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name }, status };
}
