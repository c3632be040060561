import type { IncomingMessage } from 'node:http';
import { addressKey, EVERYBODY, type AddressOf } from '../../http/client-address.ts';
import { readKeySet, type KeySet, type KeySource } from './key-set.ts';
import { FetchFailure, RETRY_PAUSES_MS, withRetries, type JsonDocument } from './json-get.ts';
import type { Readiness } from '../token-validator.ts';
import { DependencyDown, type Dependency } from '../refusal.ts';
import type { Logger } from '../../contract/logger.ts';
import { SingleFlight } from '../../kit/tasks.ts';
import { endOf, within } from '../../kit/time.ts';

interface RemoteKeysOptions {
  /** Fetches the key set, including discovery when needed. Rejects with `FetchFailure` or any other error. */
  readonly fetchKeys: () => Promise<JsonDocument>;
  readonly addressOf: AddressOf;
  readonly now: () => number;
  readonly log: Logger;
  readonly retryPausesMs?: readonly number[] | undefined;
}

/** Shortest pause after a failed fetch. */
const COOLDOWN_MS = 30_000;
/** Time for which expired keys stay in use while their endpoint is down. */
const STALE_MS = 24 * 3_600_000;
/** Expired keys are refreshed in the background; this long after expiry a request waits briefly for the new keys. */
const LATE_MS = 60_000;
/** Longest wait for newer keys, from the start of their fetch, while older keys are cached. */
const LATE_WAIT_MS = 1_000;
/** Longest wait of a request without usable cached keys, while the issuer is not known to be down. */
const WAIT_MS = 10_000;
/** Longest wait for the key of one token, from the start of the fetch, and for any key after a failed fetch. */
const SHORT_WAIT_MS = 1_000;
/** Most requests that wait for keys at once; further requests fail immediately. */
const MAX_WAITING = 1_000;
/** Time for which requests share a failure. */
const REST_MS = 1_000;
/** Factor by which the pauses of the warm-up exceed those between retries. */
const WARM_UP_PATIENCE = 5;

/** Age of a failure after which a reader of the status starts another attempt. */
const PROBE_AFTER_MS = 5_000;

interface Failure {
  readonly at: number;
  /** Time of the first failure in a row. */
  readonly since: number;
  readonly reason: string;
  readonly message: string;
  readonly dependency: Dependency;
}

/**
 * Keys of an issuer over HTTP: cached for the age in the reply, refreshed when a token names an unknown key, and used
 * beyond their age while the endpoint is down. Concurrent requests share one fetch.
 */
export class RemoteKeys implements KeySource {
  readonly #options: RemoteKeysOptions;
  #set: KeySet | undefined;
  #text = '';
  #freshUntil = 0;
  readonly #lookUps = new LookUpBudget();
  #failure: Failure | undefined;
  readonly #flight = new SingleFlight();
  #flightBegan = 0;
  #waiting = 0;
  #warmUp: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: RemoteKeysOptions) {
    this.#options = options;
  }

  get latest(): KeySet | undefined {
    return this.#set;
  }

  current(): KeySet | Promise<KeySet> {
    const now = this.#options.now();
    const set = this.#usable(now);
    if (set === undefined) return this.#first(now);
    if (now < this.#freshUntil || this.#failedSince(now - COOLDOWN_MS)) return set;
    const flight = this.#fly();
    const waitMs = this.#flightBegan + LATE_WAIT_MS - now;
    if (now < this.#freshUntil + LATE_MS || this.#failure || waitMs <= 0) return set;
    return endOf(waitMs, flight).then(() => this.#set ?? set);
  }

  async renew(seen: KeySet, req?: IncomingMessage): Promise<KeySet> {
    const flight = this.#flight.running;
    if (this.#set === seen && flight) await this.#wait(flight, SHORT_WAIT_MS); // that fetch may have started before the key existed
    const now = this.#options.now();
    if (this.#set === seen && this.#lookUps.take(this.#clientOf(req), now)) {
      await this.#wait(this.#fly(), SHORT_WAIT_MS);
    }
    if (this.#set !== undefined && this.#set !== seen) return this.#set;
    if (this.#failure) throw this.#down(this.#failure); // the key may exist
    return seen;
  }

  /** Fetches in the background until one fetch succeeds. */
  warmUp(): void {
    const { retryPausesMs = RETRY_PAUSES_MS } = this.#options;
    void this.#fly().then(() => {
      if (this.#set !== undefined || this.#closed) return;
      this.#warmUp = setTimeout(
        () => {
          this.warmUp();
        },
        WARM_UP_PATIENCE * Math.max(...retryPausesMs),
      ).unref();
    });
  }

  /** Returns the readiness. Fetches again in the background after a failure, so that the next reader learns of the issuer's return. */
  status(): Readiness {
    const now = this.#options.now();
    const usable = this.#usable(now) !== undefined;
    const failure = this.#failure;
    if (failure) {
      if (now - failure.at >= PROBE_AFTER_MS && !this.#closed) void this.#fly();
      const { reason, message, since } = failure;
      return { ready: usable, reason, message, since: new Date(since).toISOString() };
    }
    return usable ? { ready: true } : { ready: false, reason: 'KeysPending', message: 'the keys are being fetched' };
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#warmUp);
  }

  /** Requests whose address many clients may share count as one client. */
  #clientOf(req: IncomingMessage | undefined): string {
    const address = req && this.#options.addressOf(req);
    return address === undefined ? EVERYBODY : addressKey(address);
  }

  #usable(now: number): KeySet | undefined {
    return now < this.#freshUntil + STALE_MS ? this.#set : undefined;
  }

  #failedSince(time: number): boolean {
    return this.#failure !== undefined && this.#failure.at > time;
  }

  async #first(now: number): Promise<KeySet> {
    if (this.#failure && this.#failedSince(now - REST_MS)) throw this.#down(this.#failure);
    await this.#wait(this.#fly(), this.#failure ? SHORT_WAIT_MS : WAIT_MS);
    const set = this.#usable(this.#options.now());
    if (set === undefined) throw this.#down(this.#failure);
    return set;
  }

  /** Waits until `limitMs` after the start of the fetch: many tokens hold requests no longer than one does. */
  async #wait(flight: Promise<void>, limitMs: number): Promise<void> {
    const leftMs = this.#flightBegan + limitMs - this.#options.now();
    if (leftMs <= 0 || this.#waiting >= MAX_WAITING) throw slow();
    this.#waiting += 1;
    try {
      const isInTime = flight.then(() => true);
      if (!(await within(leftMs, isInTime, false))) throw slow();
    } finally {
      this.#waiting -= 1;
    }
  }

  #down(failure: Failure | undefined): DependencyDown {
    return new DependencyDown(failure?.dependency ?? 'keys', failure?.message ?? 'the keys are being fetched');
  }

  /** Never rejects: stores the result in the fields. */
  #fly(): Promise<void> {
    if (!this.#flight.running) this.#flightBegan = this.#options.now();
    return this.#flight.run(() => this.#load());
  }

  async #load(): Promise<void> {
    const { fetchKeys, retryPausesMs = RETRY_PAUSES_MS } = this.#options;
    try {
      await withRetries(async () => {
        await this.#take(await fetchKeys());
      }, retryPausesMs);
      if (this.#failure) this.#options.log.info('the keys of the issuer are there again');
      this.#failure = undefined;
    } catch (error) {
      this.#fail(error);
    }
  }

  async #take({ document, text, maxAgeMs }: JsonDocument): Promise<void> {
    if (this.#set === undefined || text !== this.#text) {
      this.#set = await readKeys(document);
      this.#text = text;
      this.#options.log.info('the keys of the issuer were read', { keys: this.#set.kids.size });
    }
    this.#freshUntil = this.#options.now() + maxAgeMs;
  }

  #fail(error: unknown): void {
    if (this.#closed) return; // closing aborted the fetch
    const { now, log } = this.#options;
    const known = error instanceof FetchFailure ? error : undefined;
    const reason = known?.reason ?? 'KeysUnavailable';
    const message = error instanceof Error ? error.message : 'the keys of the issuer cannot be fetched';
    const level = this.#failure?.reason === reason ? 'debug' : 'warn';
    log[level]('the keys of the issuer cannot be fetched', { reason, cause: message });
    const at = now();
    const since = this.#failure?.since ?? at;
    this.#failure = { at, since, reason, message, dependency: known?.dependency ?? 'keys' };
  }
}

const slow = (): DependencyDown => new DependencyDown('keys', 'the issuer is slow to send its keys');

async function readKeys(document: unknown): Promise<KeySet> {
  try {
    return await readKeySet(document);
  } catch (error) {
    throw new FetchFailure('BadKeySet', error instanceof Error ? error.message : 'the key set cannot be read');
  }
}

/** Shortest pause between look-ups of one client. */
const CLIENT_PAUSE_MS = 30_000;
/** Look-ups of all clients at once. */
const CAPACITY = 10;
/** Time until one more look-up is possible. */
const REFILL_MS = 3_000;

/**
 * Budget of the fetches for tokens with an unknown key: one in 30 s for each client, and a token bucket of ten for all. A client with
 * invented keys does not delay the look-up of another client after a rotation.
 */
export class LookUpBudget {
  #tokens = CAPACITY;
  #filledAt = -Infinity;
  /** Latest look-up of each client, ms. Few, because the bucket limits them. */
  readonly #lookedUpAt = new Map<string, number>();

  /** Takes a look-up. Returns false when the client or all clients have used up theirs. @param now ms */
  take(client: string, now: number): boolean {
    for (const [key, at] of this.#lookedUpAt) if (now - at >= CLIENT_PAUSE_MS) this.#lookedUpAt.delete(key);
    if (this.#lookedUpAt.has(client)) return false;
    this.#fill(now);
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    this.#lookedUpAt.set(client, now);
    return true;
  }

  #fill(now: number): void {
    this.#tokens = Math.min(CAPACITY, this.#tokens + (now - this.#filledAt) / REFILL_MS);
    this.#filledAt = now;
  }
}
