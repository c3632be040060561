import { ApiError } from '../../gateway/kube/client.ts';
import {
  apiVersionOf,
  RESOURCES,
  type KubeObject,
  type OwnerReference,
  type ResourceType,
} from '../../gateway/kube/resource.ts';
import type { Clock } from '../../gateway/kit/time.ts';
import type { Logger } from '../../gateway/contract/logger.ts';

/** Requests to the API server. */
export interface LeaseClient {
  get(type: ResourceType, namespace: string, name: string): Promise<KubeObject | undefined>;
  create(type: ResourceType, namespace: string, object: KubeObject): Promise<KubeObject>;
  /** Fails with a conflict when the object has another resourceVersion by now. */
  update(object: KubeObject): Promise<KubeObject>;
}

export interface LeaderElectorOptions {
  readonly client: LeaseClient;
  readonly namespace: string;
  readonly name: string;
  /** Owner of the Lease. Without one the Lease is never deleted. */
  readonly owner?: OwnerReference | undefined;
  /** Unique for each process, also within a pod. */
  readonly identity: string;
  readonly clock: Clock;
  /** Returns a number from 0 to 1, so that candidates do not poll at the same moments. */
  readonly random: () => number;
  readonly log: Pick<Logger, 'warn' | 'info'>;
  readonly onElected: () => void;
  /** Called as soon as another process may acquire the lease. */
  readonly onLost: () => void;
}

const LEASE_MS = 15_000;
const RENEW_EVERY_MS = 2_000;
/** Time without a renewal after which the leader stops: 5 s before another process may acquire the lease. */
const RENEW_DEADLINE_MS = 10_000;
const RETRY_MS = 2_000;
const JITTER = 0.2;

interface LeaseSpec {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
}

const specOf = ({ spec = {} }: KubeObject): LeaseSpec => spec as LeaseSpec;

/**
 * Leads while it holds a Lease. Clocks of other machines are not trusted: a lease has expired when this process has seen
 * no change of it for its whole duration.
 */
export class LeaderElector {
  readonly #options: LeaderElectorOptions;
  #observed: { readonly record: string; readonly at: number } | undefined;
  #held: KubeObject | undefined;
  #renewedAt = 0;
  #cancelTimer: (() => void) | undefined;
  #cancelDeadline: (() => void) | undefined;
  #attempt: Promise<void> = Promise.resolve();
  #state: 'new' | 'running' | 'stopped' = 'new';

  constructor(options: LeaderElectorOptions) {
    this.#options = options;
  }

  get isLeader(): boolean {
    return this.#held !== undefined;
  }

  get isRunning(): boolean {
    return this.#state === 'running';
  }

  start(): void {
    if (this.#state !== 'new') return;
    this.#state = 'running';
    this.#scheduleAttempt();
  }

  /** Releases the lease, so that another process can lead at once. All work of the leader must have ended before. */
  async stop(): Promise<void> {
    this.#state = 'stopped';
    this.#cancelTimer?.();
    this.#cancelDeadline?.();
    await this.#attempt;
    const held = this.#held;
    this.#held = undefined;
    if (!held) return;
    try {
      await this.#options.client.update(
        this.#lease({ ...specOf(held), holderIdentity: '', leaseDurationSeconds: 1 }, held),
      );
      this.#options.log.info('leadership released');
    } catch (error) {
      this.#options.log.warn('leadership could not be released: the lease will expire', { problem: messageOf(error) });
    }
  }

  #scheduleAttempt(): void {
    this.#attempt = (this.#held ? this.#renew(this.#held) : this.#acquire())
      .catch((error: unknown) => {
        this.#options.log.warn('lease could not be read or written', { problem: messageOf(error) });
        return RETRY_MS;
      })
      .then((delayMs) => {
        if (this.#state === 'running')
          this.#cancelTimer = this.#options.clock.after(delayMs, () => this.#scheduleAttempt());
      });
  }

  /** Acquires the lease if it is free. Returns the delay before the next attempt. */
  async #acquire(): Promise<number> {
    const { client, namespace, name, clock } = this.#options;
    const lease = await client.get(RESOURCES.Lease, namespace, name);
    const msUntilFree = lease ? this.#msUntilFree(lease) : 0;
    if (msUntilFree > 0) return Math.min(msUntilFree, RETRY_MS * (1 + JITTER * this.#options.random()));
    const startedAt = clock.now();
    const spec = {
      acquireTime: this.#time(),
      leaseTransitions: lease ? (specOf(lease).leaseTransitions ?? 0) + 1 : 0,
    };
    try {
      const request = this.#lease({ ...spec, ...this.#ownRecord() }, lease);
      this.#hold(
        await (lease ? client.update(request) : client.create(RESOURCES.Lease, namespace, request)),
        startedAt,
      );
    } catch (error) {
      if (isConflict(error)) return RETRY_MS; // another process was faster
      throw error;
    }
    this.#options.log.info('leading');
    this.#options.onElected();
    return RENEW_EVERY_MS;
  }

  async #renew(held: KubeObject): Promise<number> {
    const { client, namespace, name, clock, identity } = this.#options;
    const startedAt = clock.now();
    try {
      const renewed = await client.update(this.#lease({ ...specOf(held), ...this.#ownRecord() }, held));
      // The deadline may have passed during the request.
      if (this.#held) this.#hold(renewed, startedAt);
      return RENEW_EVERY_MS;
    } catch (error) {
      if (!isConflict(error)) throw error;
      const lease = await client.get(RESOURCES.Lease, namespace, name);
      if (lease && specOf(lease).holderIdentity === identity && this.#held) this.#held = lease;
      else this.#lose('another process holds the lease');
      return 0;
    }
  }

  #hold(lease: KubeObject, renewedAt: number): void {
    const { clock } = this.#options;
    this.#held = lease;
    this.#renewedAt = renewedAt;
    this.#cancelDeadline?.();
    this.#cancelDeadline = clock.after(Math.max(0, this.#renewedAt + RENEW_DEADLINE_MS - clock.now()), () =>
      this.#lose('the lease could not be renewed in time'),
    );
  }

  #lose(reason: string): void {
    if (!this.#held) return;
    this.#held = undefined;
    this.#observed = undefined;
    this.#cancelDeadline?.();
    this.#options.log.warn('stopped leading', { reason });
    this.#options.onLost();
  }

  #msUntilFree(lease: KubeObject): number {
    const { clock, identity } = this.#options;
    const { holderIdentity = '', renewTime = '', leaseTransitions = 0, leaseDurationSeconds } = specOf(lease);
    if (holderIdentity === '' || holderIdentity === identity) return 0;
    const record = `${holderIdentity} ${renewTime} ${String(leaseTransitions)}`;
    if (this.#observed?.record !== record) this.#observed = { record, at: clock.now() };
    const lastsMs = leaseDurationSeconds === undefined ? LEASE_MS : leaseDurationSeconds * 1_000;
    return this.#observed.at + lastsMs - clock.now();
  }

  #ownRecord(): LeaseSpec {
    return {
      holderIdentity: this.#options.identity,
      leaseDurationSeconds: LEASE_MS / 1_000,
      renewTime: this.#time(),
    };
  }

  #lease(spec: LeaseSpec, previous: KubeObject | undefined): KubeObject {
    const { namespace, name, owner } = this.#options;
    const resourceVersion = previous?.metadata.resourceVersion;
    const ownerReferences = owner && [owner];
    return {
      apiVersion: apiVersionOf(RESOURCES.Lease),
      kind: RESOURCES.Lease.kind,
      metadata: {
        namespace,
        name,
        ...(resourceVersion !== undefined && { resourceVersion }),
        ...(ownerReferences && { ownerReferences }),
      },
      spec,
    };
  }

  /** Returns the time as a MicroTime of Kubernetes. */
  #time(): string {
    return new Date(this.#options.clock.now()).toISOString().replace('Z', '000Z');
  }
}

const isConflict = (error: unknown): boolean => error instanceof ApiError && error.status === 409;

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
