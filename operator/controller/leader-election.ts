import { ApiError } from '../../gateway/kube/client.ts';
import {
  apiVersionOf,
  RESOURCES,
  type KubeObject,
  type OwnerReference,
  type ResourceType,
} from '../../gateway/kube/resource.ts';
import type { Clock } from './clock.ts';
import type { Logger } from '../../gateway/contract/logger.ts';

/** What the elector asks of an API server. */
export interface LeaseClient {
  get(type: ResourceType, namespace: string, name: string): Promise<KubeObject | undefined>;
  create(type: ResourceType, namespace: string, object: KubeObject): Promise<KubeObject>;
  /** Refused as a conflict when the object is no longer at the resourceVersion that it names. */
  update(object: KubeObject): Promise<KubeObject>;
}

export interface LeaderElectorOptions {
  readonly client: LeaseClient;
  readonly namespace: string;
  readonly name: string;
  /** What the Lease shall go with; it stays where there is none. */
  readonly owner?: OwnerReference | undefined;
  /** Another one in each process, also of the same pod. */
  readonly identity: string;
  readonly clock: Clock;
  /** 0 to 1: candidates shall not ask in step. */
  readonly random: () => number;
  readonly log: Pick<Logger, 'warn' | 'info'>;
  readonly onElected: () => void;
  /** Called at once when the lease may soon be somebody else's. */
  readonly onLost: () => void;
}

const LEASE_MS = 15_000;
const RENEW_EVERY_MS = 2_000;
/** Who could not renew for so long leads no more: 5 s before anybody else may. */
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
 * Leads while it holds a Lease. Clocks of other machines are not compared with ours: a lease is over when it has not
 * changed before our eyes for as long as it lasts.
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
    this.#try();
  }

  /** Lets others lead at once. What a leader does must have ended before. */
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
      this.#options.log.warn('leadership could not be released: it ends by itself', { problem: messageOf(error) });
    }
  }

  #try(): void {
    this.#attempt = (this.#held ? this.#renew(this.#held) : this.#acquire())
      .catch((error: unknown) => {
        this.#options.log.warn('the lease could not be read or written', { problem: messageOf(error) });
        return RETRY_MS;
      })
      .then((delayMs) => {
        if (this.#state === 'running') this.#cancelTimer = this.#options.clock.after(delayMs, () => this.#try());
      });
  }

  /** Takes the lease when it is free; returns when to try again. */
  async #acquire(): Promise<number> {
    const { client, namespace, name, clock } = this.#options;
    const lease = await client.get(RESOURCES.Lease, namespace, name);
    const freeInMs = lease ? this.#freeInMs(lease) : 0;
    if (freeInMs > 0) return Math.min(freeInMs, RETRY_MS * (1 + JITTER * this.#options.random()));
    const startedAt = clock.now();
    const spec = {
      acquireTime: this.#time(),
      leaseTransitions: lease ? (specOf(lease).leaseTransitions ?? 0) + 1 : 0,
    };
    try {
      const request = this.#lease({ ...spec, ...this.#mine() }, lease);
      this.#hold(
        await (lease ? client.update(request) : client.create(RESOURCES.Lease, namespace, request)),
        startedAt,
      );
    } catch (error) {
      if (isConflict(error)) return RETRY_MS; // somebody else was faster
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
      const renewed = await client.update(this.#lease({ ...specOf(held), ...this.#mine() }, held));
      // The deadline may have passed meanwhile.
      if (this.#held) this.#hold(renewed, startedAt);
      return RENEW_EVERY_MS;
    } catch (error) {
      if (!isConflict(error)) throw error;
      const lease = await client.get(RESOURCES.Lease, namespace, name);
      if (lease && specOf(lease).holderIdentity === identity && this.#held) this.#held = lease;
      else this.#lose('somebody else holds the lease');
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

  #lose(why: string): void {
    if (!this.#held) return;
    this.#held = undefined;
    this.#observed = undefined;
    this.#cancelDeadline?.();
    this.#options.log.warn('leading no more', { why });
    this.#options.onLost();
  }

  #freeInMs(lease: KubeObject): number {
    const { clock, identity } = this.#options;
    const { holderIdentity = '', renewTime = '', leaseTransitions = 0, leaseDurationSeconds } = specOf(lease);
    if (holderIdentity === '' || holderIdentity === identity) return 0;
    const record = `${holderIdentity} ${renewTime} ${String(leaseTransitions)}`;
    if (this.#observed?.record !== record) this.#observed = { record, at: clock.now() };
    const lastsMs = leaseDurationSeconds === undefined ? LEASE_MS : leaseDurationSeconds * 1_000;
    return this.#observed.at + lastsMs - clock.now();
  }

  #mine(): LeaseSpec {
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

  /** A MicroTime. */
  #time(): string {
    return new Date(this.#options.clock.now()).toISOString().replace('Z', '000Z');
  }
}

const isConflict = (error: unknown): boolean => error instanceof ApiError && error.status === 409;

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
