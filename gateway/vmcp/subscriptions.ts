import type { HeldBytes } from './budgets/byte-budget.ts';
import { SESSION_SUBSCRIPTIONS } from './budgets/limits.ts';

/** One URI that a session subscribed to. */
export interface Subscription {
  readonly backend: string;
  /** Requests that the backend has not answered yet. */
  pending: number;
  /** The backend has accepted one of them. */
  accepted: boolean;
}

/** Bytes beside the text of a URI, whose characters take two at most. */
const ENTRY_BYTES = 128;
const bytesOf = (uri: string): number => ENTRY_BYTES + 2 * uri.length;

/** Subscriptions of one session, within the budget of its principal. The text is kept: a lost channel subscribes again. */
export class Subscriptions {
  readonly #held: HeldBytes;
  readonly #byUri = new Map<string, Subscription>();

  constructor(held: HeldBytes) {
    this.#held = held;
  }

  get size(): number {
    return this.#byUri.size;
  }

  has(uri: string): boolean {
    return this.#byUri.has(uri);
  }

  backendOf(uri: string): string | undefined {
    return this.#byUri.get(uri)?.backend;
  }

  /** Names of backends with a subscription. */
  backends(): Set<string> {
    return new Set([...this.#byUri.values()].map(({ backend }) => backend));
  }

  /** URIs whose subscription `backend` has accepted. */
  acceptedBy(backend: string): string[] {
    return [...this.#byUri].flatMap(([uri, entry]) => (entry.backend === backend && entry.accepted ? [uri] : []));
  }

  /** Adds a subscription that the backend is about to be asked for. A reason why there is no room, else undefined. */
  begin(uri: string, backend: string): 'session' | 'principal' | undefined {
    const present = this.#byUri.get(uri);
    if (present?.backend === backend) {
      present.pending += 1;
      return undefined;
    }
    this.delete(uri);
    const bytes = this.#held.bytes + bytesOf(uri);
    if (this.#byUri.size >= SESSION_SUBSCRIPTIONS.count || bytes > SESSION_SUBSCRIPTIONS.bytes) return 'session';
    if (!this.#held.resize(bytes)) return 'principal';
    this.#byUri.set(uri, { backend, pending: 1, accepted: false });
    return undefined;
  }

  /** The backend has answered a request that began here. A subscription that it never accepted is forgotten. */
  settle(uri: string, accepted: boolean): void {
    const entry = this.#byUri.get(uri);
    if (!entry) return;
    entry.pending -= 1;
    entry.accepted ||= accepted;
    if (entry.pending <= 0 && !entry.accepted) this.delete(uri);
  }

  delete(uri: string): void {
    if (this.#byUri.delete(uri)) this.#held.resize(this.#held.bytes - bytesOf(uri));
  }

  /** Forgets the subscriptions of a backend that is gone. */
  deleteOf(backend: string): void {
    for (const [uri, entry] of this.#byUri) if (entry.backend === backend) this.delete(uri);
  }

  clear(): void {
    this.#byUri.clear();
    this.#held.resize(0);
  }
}
