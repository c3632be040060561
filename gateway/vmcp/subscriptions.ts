import type { HeldBytes } from './budgets/byte-budget.ts';
import { SESSION_SUBSCRIPTIONS } from './budgets/limits.ts';

/** State of one subscribed URI. */
export interface Subscription {
  readonly backend: string;
  /** The URI at the backend. */
  readonly name: string;
  /** Position among the subscriptions of the session, which grows. */
  readonly number: number;
  /** Number of requests that the backend has not answered yet. */
  pending: number;
  /** True after the backend accepted a subscription. */
  accepted: boolean;
}

/** Estimated bytes per URI beside its text. A character takes at most two bytes. */
const ENTRY_BYTES = 128;
const bytesOf = (uri: string, name: string): number =>
  ENTRY_BYTES + 2 * (name === uri ? uri.length : uri.length + 2 * name.length);

/** Key of a subscription by its URI at the backend. */
const ownKey = (backend: string, name: string): string => `${backend} ${name}`;

/**
 * Subscriptions of one session, within the budget of its principal. URIs are stored so that a new channel can subscribe
 * again.
 */
export class Subscriptions {
  readonly #held: HeldBytes;
  readonly #byUri = new Map<string, Subscription>();
  /** URIs of renamed resources, by `ownKey`; undefined while there are none. */
  #renamed: Map<string, string> | undefined;
  #newest = 0;
  /** Number of the newest subscription that was checked for an identity; undefined while there is none. */
  #checked: WeakMap<object, number> | undefined;

  constructor(held: HeldBytes) {
    this.#held = held;
  }

  get size(): number {
    return this.#byUri.size;
  }

  has(uri: string): boolean {
    return this.#byUri.has(uri);
  }

  /** Returns the subscribed URI of a resource of this backend, which calls it `name`; undefined without a subscription. */
  uriOf(backend: string, name: string): string | undefined {
    const entry = this.#byUri.get(name);
    if (entry?.backend === backend && entry.name === name) return name;
    return this.#renamed?.get(ownKey(backend, name));
  }

  backendOf(uri: string): string | undefined {
    return this.#byUri.get(uri)?.backend;
  }

  /** Returns the names of backends with a subscription. */
  backends(): Set<string> {
    return new Set([...this.#byUri.values()].map(({ backend }) => backend));
  }

  /** Returns the URIs at `backend` whose subscription it has accepted. */
  acceptedBy(backend: string): string[] {
    const own = [...this.#byUri.values()].filter((entry) => entry.backend === backend && entry.accepted);
    return own.map(({ name }) => name);
  }

  /**
   * Adds a subscription before its request is sent. `name` is the URI at the backend. Returns the budget that is full,
   * else undefined.
   */
  begin(uri: string, backend: string, name = uri): 'session' | 'principal' | undefined {
    const present = this.#byUri.get(uri);
    if (present?.backend === backend && present.name === name) {
      present.pending += 1;
      return undefined;
    }
    this.delete(uri);
    const bytes = this.#held.bytes + bytesOf(uri, name);
    if (this.#byUri.size >= SESSION_SUBSCRIPTIONS.count || bytes > SESSION_SUBSCRIPTIONS.bytes) return 'session';
    if (!this.#held.resize(bytes)) return 'principal';
    this.#newest += 1;
    this.#byUri.set(uri, { backend, name, number: this.#newest, pending: 1, accepted: false });
    if (name !== uri) (this.#renamed ??= new Map()).set(ownKey(backend, name), uri);
    return undefined;
  }

  /** Adds a subscription that the backend has accepted at another replica, within the budget. */
  restore(uri: string, backend: string, name: string): void {
    if (this.#byUri.has(uri) || this.begin(uri, backend, name) === undefined) this.settle(uri, true);
  }

  /** Records the backend's answer to a request. A subscription that was never accepted is removed. */
  settle(uri: string, accepted: boolean): void {
    const entry = this.#byUri.get(uri);
    if (!entry) return;
    entry.pending -= 1;
    entry.accepted ||= accepted;
    if (entry.pending <= 0 && !entry.accepted) this.delete(uri);
  }

  delete(uri: string): void {
    const entry = this.#byUri.get(uri);
    if (!entry) return;
    this.#byUri.delete(uri);
    this.#held.resize(this.#held.bytes - bytesOf(uri, entry.name));
    if (entry.name === uri || !this.#renamed) return;
    this.#renamed.delete(ownKey(entry.backend, entry.name));
    if (this.#renamed.size === 0) this.#renamed = undefined;
  }

  /** Removes the subscriptions of a removed backend. */
  deleteOf(backend: string): void {
    for (const [uri, entry] of this.#byUri) if (entry.backend === backend) this.delete(uri);
  }

  /** Removes the subscriptions for which `keeps` returns false. All are checked again for each identity. */
  keep(keeps: (uri: string, backend: string) => boolean): void {
    this.#checked = undefined;
    for (const [uri, { backend }] of this.#byUri) if (!keeps(uri, backend)) this.delete(uri);
  }

  /**
   * Removes and returns the subscribed URIs for which `keeps` returns false. Each is checked once for each identity, as requests
   * come more often than subscriptions.
   */
  keepFor(identity: object, keeps: (uri: string, backend: string) => boolean): readonly string[] {
    const known = (this.#checked ??= new WeakMap<object, number>());
    const checked = known.get(identity) ?? 0;
    if (checked === this.#newest) return [];
    known.set(identity, this.#newest);
    const added = [...this.#byUri].filter(([, { number }]) => number > checked);
    const denied = added.filter(([uri, { backend }]) => !keeps(uri, backend)).map(([uri]) => uri);
    for (const uri of denied) this.delete(uri);
    return denied;
  }

  clear(): void {
    this.#byUri.clear();
    this.#renamed = undefined;
    this.#held.resize(0);
  }
}
