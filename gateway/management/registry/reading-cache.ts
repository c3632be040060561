import type { Logger } from '../../contract/logger.ts';
import type { DiskCache } from './disk-cache.ts';
import { RegistryFault } from './fault.ts';
import type { RegistryReading } from './sources/source.ts';
import { SingleFlight } from '../../kit/tasks.ts';

const FRESH_MS = 3_600_000;
const STALE_MS = 7 * 86_400_000;
/** Pause after a failure, in which a stale reading is used without a further attempt. */
const REST_MS = 30_000;

/** Times of a cached reading, in ms since the epoch. */
interface ReadingTimes {
  readonly readAt: number;
  /** Time of the last failed attempt to read again. */
  readonly failedAt?: number | undefined;
}

/** Returns true for a reading that is used without reading again. */
function isFresh({ readAt, failedAt }: ReadingTimes, now: number): boolean {
  const isResting = failedAt !== undefined && now - failedAt < REST_MS;
  return isUsable({ readAt }, now) && (now - readAt < FRESH_MS || isResting);
}

/** Returns true for a reading that may stand in for a registry that cannot be read. */
const isUsable = ({ readAt }: ReadingTimes, now: number): boolean => readAt <= now && now - readAt < STALE_MS;

interface ReadingCacheOptions {
  readonly disk: DiskCache;
  /** ms since the epoch. */
  readonly now: () => number;
  readonly log: Pick<Logger, 'warn'>;
}

/** Reads a registry. `known` is the earlier reading. */
export type Read = (known: RegistryReading | undefined) => Promise<RegistryReading>;

interface Kept {
  readonly reading: RegistryReading;
  readonly readAt: number;
  readonly failedAt?: number | undefined;
}

/**
 * Cache of the reading of one registry, in memory and on disk. Concurrent callers share one attempt. While the registry cannot be
 * read, the cached reading is used for a week, unless the registry requires a login.
 */
export class ReadingCache {
  readonly #options: ReadingCacheOptions;
  readonly #location: string;
  #kept: Kept | undefined;
  readonly #running = new SingleFlight<RegistryReading>();
  /** Number of calls of `clear`. */
  #clears = 0;

  /** `location` names the registry. */
  constructor(location: string, options: ReadingCacheOptions) {
    this.#location = location;
    this.#options = options;
  }

  /** Returns the cached reading while it is fresh; otherwise reads the registry again. */
  current(read: Read): Promise<RegistryReading> {
    return this.#share(async () => {
      const kept = await this.#load();
      if (kept && isFresh(kept, this.#options.now())) return kept.reading;
      try {
        return await this.#renew(read, kept?.reading);
      } catch (error) {
        return this.#standIn(error, kept);
      }
    });
  }

  /** Reads the registry again, even if the cached reading is fresh. A failure leaves the cached reading. */
  async refresh(read: Read): Promise<void> {
    await this.#running.running?.catch(() => undefined);
    await this.#share(async () => this.#renew(read, (await this.#load())?.reading));
  }

  /** Deletes the cached reading. The result of a read that still runs is not cached. */
  async clear(): Promise<void> {
    this.#clears += 1;
    this.#kept = undefined;
    await this.#options.disk.delete(this.#location);
  }

  #share(attempt: () => Promise<RegistryReading>): Promise<RegistryReading> {
    return this.#running.run(attempt);
  }

  async #load(): Promise<Kept | undefined> {
    if (this.#kept) return this.#kept;
    const kept = await this.#options.disk.get(this.#location);
    if (!kept) return undefined;
    const { readAt, etag, catalog } = kept;
    this.#kept = { readAt, reading: { catalog: { ...catalog, skills: catalog.skills }, etag } };
    return this.#kept;
  }

  async #renew(read: Read, known: RegistryReading | undefined): Promise<RegistryReading> {
    const clears = this.#clears;
    const reading = await read(known);
    if (clears !== this.#clears) return reading;
    const readAt = this.#options.now();
    this.#kept = { reading, readAt };
    const { catalog, etag } = reading;
    const { skills, problems = [], ...rest } = catalog;
    const kept = {
      ...{ location: this.#location, readAt, ...(etag !== undefined && { etag }) },
      catalog: { ...rest, servers: [...rest.servers], problems: [...problems], ...(skills && { skills: [...skills] }) },
    };
    await this.#options.disk.set(kept, readAt).catch((error: unknown) => {
      this.#options.log.warn('registry cannot be cached on disk', { cause: String(error) });
    });
    return reading;
  }

  #standIn(error: unknown, kept: Kept | undefined): RegistryReading {
    const isFault = error instanceof RegistryFault && error.kind !== 'auth';
    const now = this.#options.now();
    if (!isFault || !kept || !isUsable(kept, now)) throw error;
    this.#kept = { ...kept, failedAt: now };
    const since = new Date(kept.readAt).toISOString();
    this.#options.log.warn('a registry cannot be read: its last content is used', { cause: error.message, since });
    return kept.reading;
  }
}
