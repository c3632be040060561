import type { Logger } from '../../../contract/logger.ts';
import { OperationError } from '../../../http/endpoint/request-error.ts';
import type { KubeClient } from '../../../kube/client.ts';
import { Reflector } from '../../../kube/reflector.ts';
import { isAsNewAs, ownType } from '../../../kube/resource.ts';
import { WORKLOAD_KINDS, type WorkloadKind, type WorkloadObject } from './workload-object.ts';
import { within } from '../../../kit/time.ts';

export interface ObjectCacheOptions {
  readonly client: KubeClient;
  /** Namespaces in the order in which names are looked up. */
  readonly namespaces: readonly string[];
  readonly log: Logger;
  /** ms on a monotonic clock. */
  readonly monotonicNow: () => number;
  /** From 0 to 1. */
  readonly random: () => number;
}

/** Longest wait for the first lists. */
const SYNC_MS = 5_000;
/** Longest wait until the watch has reported a write of our own. */
const ECHO_MS = 2_000;

type Slot = readonly [namespace: string, kind: WorkloadKind, reflector: Reflector<WorkloadObject>];

/** Objects of all workloads, kept current by watches. */
export class ObjectCache {
  readonly #slots: readonly Slot[];
  readonly #waiting = new Set<() => void>();
  readonly #synced: Promise<boolean>;
  #isSynced = false;

  constructor({ client, namespaces, log, monotonicNow, random }: ObjectCacheOptions) {
    const onChange = (): void => {
      for (const look of this.#waiting) look();
    };
    this.#slots = namespaces.flatMap((namespace) =>
      WORKLOAD_KINDS.map((kind): Slot => {
        const options = { client, type: ownType(kind), namespace, onChange, log, now: monotonicNow, random };
        return [namespace, kind, new Reflector<WorkloadObject>(options)];
      }),
    );
    this.#synced = Promise.all(this.#slots.map(([, , reflector]) => reflector.synced)).then(() => {
      return (this.#isSynced = true);
    });
    for (const [, , reflector] of this.#slots) reflector.start();
  }

  /** Waits for the first lists. Throws `engine_unavailable` while the API server does not answer. */
  async ready(): Promise<void> {
    if (this.#isSynced || (await within(SYNC_MS, this.#synced, false))) return;
    const message = 'the API server has not sent the workloads yet: the log has the reason, repeat the request later';
    throw new OperationError('engine_unavailable', message);
  }

  /** Returns the object of each name. Of two with one name, the first namespace takes precedence, and MCPServers. */
  all(): WorkloadObject[] {
    const byName = new Map<string, WorkloadObject>();
    for (const [namespace, , reflector] of this.#slots) {
      for (const object of reflector.inNamespace(namespace)) {
        if (!byName.has(object.metadata.name)) byName.set(object.metadata.name, object);
      }
    }
    return [...byName.values()].toSorted((one, other) => (one.metadata.name < other.metadata.name ? -1 : 1));
  }

  find(name: string): WorkloadObject | undefined {
    for (const [namespace, , reflector] of this.#slots) {
      const object = reflector.get(namespace, name);
      if (object) return object;
    }
    return undefined;
  }

  /** Waits until reads return a written object, so that a client sees its own change. */
  async shows({ metadata: { namespace, name, resourceVersion }, kind }: WorkloadObject): Promise<void> {
    await this.#until(() => isAsNewAs(this.#get(namespace, kind, name)?.metadata.resourceVersion, resourceVersion));
  }

  /** Waits until reads no longer return a deleted object, or return that its deletion has started. */
  async showsDeleted({ metadata: { namespace, name, uid }, kind }: WorkloadObject): Promise<void> {
    await this.#until(() => {
      const metadata = this.#get(namespace, kind, name)?.metadata;
      return metadata?.uid !== uid || metadata?.deletionTimestamp !== undefined;
    });
  }

  async close(): Promise<void> {
    await Promise.all(this.#slots.map(([, , reflector]) => reflector.close()));
  }

  #get(namespace: string, kind: WorkloadKind, name: string): WorkloadObject | undefined {
    return this.#slots
      .find(([ofNamespace, ofKind]) => ofNamespace === namespace && ofKind === kind)?.[2]
      .get(namespace, name);
  }

  async #until(holds: () => boolean): Promise<void> {
    if (holds()) return;
    let look = (): void => undefined;
    const seen = new Promise<void>((resolve) => {
      look = () => {
        if (holds()) resolve();
      };
    });
    this.#waiting.add(look);
    await within(ECHO_MS, seen, undefined);
    this.#waiting.delete(look);
  }
}
