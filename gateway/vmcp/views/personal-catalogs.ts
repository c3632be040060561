import { createHash } from 'node:crypto';
import type { Identity } from '../../contract/identity.ts';
import type { Catalog } from '../aggregation/catalog.ts';
import type { BackendFailure } from '../transport/channel.ts';
import { failureOfError } from '../transport/failure.ts';

/** What one backend offers to one principal, as far as is known. */
interface Entry {
  catalog: Catalog | undefined;
  digest: string;
  /** ms; of the last reading that ended. */
  readAt: number;
  /** Of the last reading; a catalog from before stays. */
  failure: BackendFailure | undefined;
  /** With whose token it was read: another login may fare better at once. */
  identity: Identity | undefined;
  /** The backend said that a list changed. */
  stale: boolean;
  reading: Promise<void> | undefined;
  /** Until a change that was announced is read. */
  pause: NodeJS.Timeout | undefined;
}

/** Reads the lists of one backend; rejects with what `failureOfError` understands. */
export type ReadCatalog = (backend: string) => Promise<Catalog>;

const FRESH_MS = 30_000;
const RETRY_AFTER_MS = 5_000;
const DEBOUNCE_MS = 250;
/** Between the end of a reading and the next one that an announcement asks for. */
const LEAST_GAP_MS = 1_000;

/**
 * The catalogs of one principal: of the backends whose credential is the caller's own, so that what they offer may
 * depend on who asks. Read when somebody asks for a list, kept when a later reading fails.
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

  /** Equal texts of two principals mean equal lists. Kept, because every call asks. */
  key(backends: readonly string[]): string {
    if (this.#keyed?.backends !== backends) {
      const key = backends.map((backend) => `${backend}=${this.#keyOf(this.#entries.get(backend))}`).join(' ');
      this.#keyed = { backends, key };
    }
    return this.#keyed.key;
  }

  /** A backend has been read, and whoever asks now need not wait for another reading. */
  isSettled(backend: string, identity: Identity | undefined): boolean {
    const entry = this.#entries.get(backend);
    if (!entry || (entry.catalog === undefined && entry.failure === undefined)) return false;
    return entry.catalog !== undefined || !this.#isDue(entry, identity);
  }

  /** Reads a backend, unless what is known is fresh: the end of the reading that runs, which never rejects. */
  renew(
    backend: string,
    identity: Identity | undefined,
    read: ReadCatalog,
    onRead: () => void,
  ): Promise<void> | undefined {
    const entry = this.#entryOf(backend);
    if (!entry.reading && this.#isDue(entry, identity)) {
      entry.stale = false;
      entry.identity = identity;
      entry.reading = this.#read(backend, entry, read).then(() => {
        entry.reading = undefined;
        onRead();
      });
    }
    return entry.reading;
  }

  /** What is known is old from now on. `readNow` is called after a pause, once however often the backend says it. */
  listChanged(backend: string, readNow: () => void): void {
    const entry = this.#entries.get(backend);
    if (!entry) return;
    entry.stale = true;
    entry.pause ??= setTimeout(
      () => {
        entry.pause = undefined;
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
      entry.catalog = await read(backend);
      entry.digest = digestOf(entry.catalog);
      entry.failure = undefined;
    } catch (error) {
      entry.failure = failureOfError(error);
    }
    entry.readAt = this.#now();
    this.#keyed = undefined;
  }

  #isDue({ readAt, stale, failure, identity: before }: Entry, identity: Identity | undefined): boolean {
    if (stale || readAt === 0) return true;
    const age = this.#now() - readAt;
    return failure ? age > RETRY_AFTER_MS || before !== identity : age > FRESH_MS;
  }

  /** A backend that only lacks the caller's login is left out of the lists and breaks none of them. */
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
      identity: undefined,
      stale: false,
      reading: undefined,
      pause: undefined,
    };
    this.#entries.set(backend, entry);
    return entry;
  }
}

function digestOf({ tools, resources, templates, prompts, capabilities }: Catalog): string {
  const hash = createHash('sha256').update(JSON.stringify(capabilities));
  for (const list of [tools, resources, templates, prompts]) {
    hash.update(`\n${String(list.length)}`);
    for (const { json } of list) hash.update(`\n${String(json.length)} `).update(json);
  }
  return hash.digest('base64url');
}
