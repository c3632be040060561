import { createHash } from 'node:crypto';
import type { Identity } from '../../contract/identity.ts';
import type { Catalog } from '../aggregation/catalog.ts';
import type { BackendFailure } from '../transport/channel.ts';
import { withLast, type BackendDiscovery } from '../backends/discover.ts';
import { failureOfError } from '../transport/failure.ts';

/** Cached lists of one backend for one principal. */
interface Entry {
  catalog: Catalog | undefined;
  digest: string;
  /** End of the last discovery, ms. */
  readAt: number;
  /** Failure of the last discovery; the previous catalog stays in use. */
  failure: BackendFailure | undefined;
  /** Identity of the last discovery. Another login may succeed, so it is tried at once. */
  identity: Identity | undefined;
  /** True when a list could not be read: its last items stay in use. */
  isPartial: boolean;
  /** True when the backend has announced a change. */
  stale: boolean;
  reading: Promise<void> | undefined;
  /** Timer that delays the discovery after an announcement. */
  timer: NodeJS.Timeout | undefined;
}

/** Reads the lists of one backend. `failureOfError` converts rejections. */
export type ReadCatalog = (backend: string) => Promise<BackendDiscovery>;

const FRESH_MS = 30_000;
/** Age from which a request of a list waits for another reading. */
const OLD_MS = 60_000;
const RETRY_AFTER_MS = 5_000;
const DEBOUNCE_MS = 250;
/** Shortest time between two discoveries that announcements cause. */
const LEAST_GAP_MS = 1_000;

/**
 * Catalogs of one principal: of the backends with per-user credentials, whose lists may differ per user. Read when the
 * principal requests a list; a failed discovery keeps the previous catalog.
 */
export class PersonalCatalogs {
  lastUsedAt = 0;
  readonly #entries = new Map<string, Entry>();
  #keyed: { readonly backends: readonly string[]; readonly key: string } | undefined;
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  catalog(backend: string): Catalog | undefined {
    return this.#entries.get(backend)?.catalog;
  }

  failure(backend: string): BackendFailure | undefined {
    return this.#entries.get(backend)?.failure;
  }

  /** Returns a key that is equal for principals with equal lists. Cached, because every call needs it. */
  key(backends: readonly string[]): string {
    if (this.#keyed?.backends !== backends) {
      const key = backends.map((backend) => `${backend}=${this.#keyOf(this.#entries.get(backend))}`).join(' ');
      this.#keyed = { backends, key };
    }
    return this.#keyed.key;
  }

  /** Returns true when the backend was read and no other discovery is due. */
  isSettled(backend: string, identity: Identity | undefined): boolean {
    const entry = this.#entries.get(backend);
    if (!entry || (entry.catalog === undefined && entry.failure === undefined)) return false;
    return entry.catalog !== undefined || !this.#isDue(entry, identity);
  }

  /** Returns true for lists that were read so long ago that a request should wait for another reading. */
  isOld(backend: string): boolean {
    const entry = this.#entries.get(backend);
    return entry?.catalog !== undefined && this.#now() - entry.readAt > OLD_MS;
  }

  /** Starts a discovery when one is due. Returns the end of the running discovery, which never rejects. */
  renew(
    backend: string,
    identity: Identity | undefined,
    read: ReadCatalog,
    onRead: () => void,
    freshMs = FRESH_MS,
  ): Promise<void> | undefined {
    const entry = this.#entryOf(backend);
    if (!entry.reading && this.#isDue(entry, identity, freshMs)) {
      entry.stale = false;
      entry.identity = identity;
      entry.reading = this.#read(backend, entry, read).then(() => {
        entry.reading = undefined;
        onRead();
      });
    }
    return entry.reading;
  }

  /** Marks the lists as outdated. Calls `readNow` once after a pause, for any number of announcements. */
  listChanged(backend: string, readNow: () => void): void {
    const entry = this.#entries.get(backend);
    if (!entry) return;
    entry.stale = true;
    entry.timer ??= setTimeout(
      () => {
        entry.timer = undefined;
        readNow();
      },
      Math.max(DEBOUNCE_MS, entry.readAt + LEAST_GAP_MS - this.#now()),
    ).unref();
  }

  forget(backend: string): void {
    this.#keyed = undefined;
    this.#entries.delete(backend);
  }

  async #read(backend: string, entry: Entry, read: ReadCatalog): Promise<void> {
    try {
      const found = await read(backend);
      entry.catalog = withLast(found, entry.catalog);
      entry.isPartial = found.unread.size > 0;
      entry.digest = digestOf(entry.catalog);
      entry.failure = undefined;
    } catch (error) {
      entry.failure = failureOfError(error);
    }
    entry.readAt = this.#now();
    this.#keyed = undefined;
  }

  #isDue(
    { readAt, stale, failure, isPartial, identity: before }: Entry,
    identity: Identity | undefined,
    freshMs = FRESH_MS,
  ): boolean {
    if (stale || readAt === 0) return true;
    const age = this.#now() - readAt;
    return failure || isPartial ? age > RETRY_AFTER_MS || before !== identity : age > freshMs;
  }

  /** Returns the key of one backend. A backend that only lacks the user's login is omitted without an error. */
  #keyOf(entry: Entry | undefined): string {
    if (entry?.catalog) return entry.digest;
    return entry?.failure && entry.failure.kind !== 'reauthenticate' ? 'down' : '-';
  }

  #entryOf(backend: string): Entry {
    const present = this.#entries.get(backend);
    if (present) return present;
    const entry: Entry = {
      catalog: undefined,
      digest: '',
      readAt: 0,
      failure: undefined,
      isPartial: false,
      identity: undefined,
      stale: false,
      reading: undefined,
      timer: undefined,
    };
    this.#entries.set(backend, entry);
    return entry;
  }
}

function digestOf(catalog: Catalog): string {
  const { tools, resources, templates, prompts, skills = [], capabilities, instructions = '', warnings } = catalog;
  const hash = createHash('sha256').update(JSON.stringify([capabilities, instructions, warnings]));
  for (const list of [tools, resources, templates, prompts, skills]) {
    hash.update(`\n${String(list.length)}`);
    for (const { json } of list) hash.update(`\n${String(json.length)} `).update(json);
  }
  return hash.digest('base64url');
}
