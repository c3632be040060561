import { endOf } from '../../kit/time.ts';
import type { BackendLists } from './backend-lists.ts';
import { Flights } from '../../kit/tasks.ts';

/** Age from which the lists are read again for a request of a list. */
const FRESH_MS = 10_000;
/** Age from which the request waits for that. */
const OLD_MS = 60_000;
/** Age from which the lists are read again for a name that they do not have. */
export const UNKNOWN_MS = 1_000;
/** Age from which the lists are read again for clients that wait for announcements. Twice this time is less than `OLD_MS`. */
const HEARD_MS = 25_000;
/** Shortest time between two looks at the ages. */
const LOOK_EVERY_MS = 1_000;
/** Longest wait of a request for lists that are read again. */
export const PATIENCE_MS = 1_000;
/** Time for which a session counts as new: it gets the lists as they are now. */
const NEW_SESSION_MS = 5_000;

/** Least age of lists as a multiple of the time that reading them takes: a long list must not be read all the time. */
const LEAST_PAUSES = 20;

/** A backend as the renewal of its lists sees it. */
export interface Renewable {
  readonly name: string;
  readonly lists: BackendLists;
}

export interface ListRenewalOptions {
  /** Returns the backends that answer and whose lists all principals share. */
  readonly backends: () => Iterable<Renewable>;
  /** Reads the lists of a backend. Never rejects. */
  readonly read: (backend: string) => Promise<void>;
  /** ms since the epoch. */
  readonly now: () => number;
}

/**
 * Reads the lists again of backends that cannot announce changes, while clients use them: at a request of a list, at a name that no
 * list has, and while a client waits for announcements.
 */
export class ListRenewal {
  readonly #options: ListRenewalOptions;
  readonly #running = new Flights<string>();
  #lookAt = 0;
  /** Present while lists are read that were old when a client requested them. */
  #old: Promise<void> | undefined;

  constructor(options: ListRenewalOptions) {
    this.#options = options;
  }

  /** Returns the end of a reading for which a request of a list must wait. Called for every such request, and for new sessions. */
  requested(session: { readonly startedAt: number }): Promise<void> | undefined {
    const now = this.#options.now();
    if (now >= this.#lookAt) {
      this.#lookAt = now + LOOK_EVERY_MS;
      if (this.#start(FRESH_MS, now) >= OLD_MS) {
        const old = this.#end();
        this.#old = old;
        void old?.finally(() => this.#old === old && (this.#old = undefined));
      }
    }
    return this.#old ?? (now - session.startedAt < NEW_SESSION_MS ? this.#end() : undefined);
  }

  /** Returns the end of a reading that may find a name; undefined when no list of a possible backend is read. */
  unknown(isPossible: (backend: string) => boolean): Promise<void> | undefined {
    this.#start(UNKNOWN_MS, this.#options.now(), isPossible);
    return this.#end(isPossible);
  }

  /** Called every 30 s while a client waits for announcements. */
  awaited(): void {
    this.#start(HEARD_MS, this.#options.now());
  }

  /** Reads the lists of at least this age. Returns the greatest age. */
  #start(ageMs: number, now: number, isPossible?: (backend: string) => boolean): number {
    let greatest = 0;
    for (const { name, lists } of this.#options.backends()) {
      const age = now - lists.readAt;
      const leastMs = Math.max(ageMs, Math.min(lists.tookMs * LEAST_PAUSES, OLD_MS));
      if (age < leastMs || !lists.isSilent || this.#running.get(name)) continue;
      const isWorth = isPossible ? isPossible(name) : !lists.isPartial; // such lists are read again anyway
      if (!isWorth) continue;
      greatest = Math.max(greatest, age);
      lists.readAt = now;
      lists.stale = true;
      void this.#running.run(name, () => this.#options.read(name));
    }
    return greatest;
  }

  /** Returns the end of the running readings, or of the patience of a request. */
  #end(isPossible?: (backend: string) => boolean): Promise<void> | undefined {
    if (this.#running.size === 0) return undefined;
    const ends = [...this.#running.entries()].flatMap(([name, end]) => (isPossible?.(name) === false ? [] : [end]));
    if (ends.length === 0) return undefined;
    return endOf(PATIENCE_MS, Promise.all(ends));
  }
}
