import type { ClientHosts, DocumentFault } from './client-hosts.ts';
import { setNewest } from '../../../kit/cache.ts';
import { Flights } from '../../../kit/tasks.ts';

/** Parsed document. `reason` is for the log and contains nothing from a reply. */
export type DocumentReading<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly reason: string };

/** `invalid`: the document cannot be fetched or is unusable. `busy`: too many requests are running, retry later. */
export type Failed =
  | { readonly ok: false; readonly error: 'invalid'; readonly reason: string; readonly fault: DocumentFault }
  | { readonly ok: false; readonly error: 'busy'; readonly reason: string };

type Fetched<Value> = { readonly ok: true; readonly value: Value } | Failed;

/** Charges one request to the budget of the client; returns false when it is spent. Called only before a request. */
export type SpendFetch = () => boolean | Promise<boolean>;

interface FetchedDocumentsOptions<Value> {
  /** Parses the text of a document. */
  readonly read: (url: string, text: string) => DocumentReading<Value> | Promise<DocumentReading<Value>>;
  readonly from: ClientHosts;
  readonly maxBytes: number;
  /** Number of documents in the cache. */
  readonly cacheSize: number;
  /** Lifetime of documents whose reply does not state one. */
  readonly fallbackTtlMs: number;
  /** ms since the epoch */
  readonly now: () => number;
}

/** Documents at URLs of clients: cached for the lifetime that the reply states, and fetched by one request at a time. */
export class FetchedDocuments<Value> {
  readonly #options: FetchedDocumentsOptions<Value>;
  readonly #cache: DocumentCache<Value, Failed>;
  readonly #running = new Flights<string, Fetched<Value>>();

  constructor(options: FetchedDocumentsOptions<Value>) {
    this.#options = options;
    this.#cache = new DocumentCache(options.cacheSize);
  }

  /** Returns a fresh document, fetched if necessary. Failures of the host never cause a rejection. */
  async resolve(url: string, spend: SpendFetch): Promise<Fetched<Value>> {
    return this.#settled(url) ?? this.#startPaid(url, spend, () => this.#settled(url));
  }

  /** Fetches a document again even if it is fresh, but not within 30 s of a failure. */
  async renew(url: string, spend: SpendFetch): Promise<Fetched<Value>> {
    const settled = () => this.failure(url) ?? this.#running.get(url);
    return settled() ?? this.#startPaid(url, spend, settled);
  }

  /** Returns a cached document whose lifetime has not passed. */
  fresh(url: string): Value | undefined {
    return this.#cache.fresh(url, this.#options.now());
  }

  /** Returns the latest cached document of any age. */
  known(url: string): Value | undefined {
    return this.#cache.known(url);
  }

  /** Returns the running request. */
  running(url: string): Promise<Fetched<Value>> | undefined {
    return this.#running.get(url);
  }

  /** Returns the failure of the last request while it prevents another one. */
  failure(url: string): Failed | undefined {
    return this.#cache.failure(url, this.#options.now());
  }

  /** Forgets all failures, so that the next request for each document is sent. */
  forgetFailures(): void {
    this.#cache.forgetFailures();
  }

  #settled(url: string): Fetched<Value> | Promise<Fetched<Value>> | undefined {
    const value = this.fresh(url);
    return value === undefined ? (this.failure(url) ?? this.#running.get(url)) : { ok: true, value };
  }

  /** Charges the budget, then checks `settled` again: a concurrent request may have finished. */
  async #startPaid(
    url: string,
    spend: SpendFetch,
    settled: () => Fetched<Value> | Promise<Fetched<Value>> | undefined,
  ): Promise<Fetched<Value>> {
    if (!(await spend())) return { ok: false, error: 'busy', reason: 'the budget of fetches is spent' };
    return settled() ?? this.#start(url);
  }

  #start(url: string): Promise<Fetched<Value>> | Fetched<Value> {
    const release = this.#options.from.slot(url);
    if (!release) return { ok: false, error: 'busy', reason: 'too many documents are being fetched' };
    return this.#running.run(url, () => this.#fetch(url).finally(release));
  }

  async #fetch(url: string): Promise<Fetched<Value>> {
    const { from, maxBytes, read, now, fallbackTtlMs } = this.#options;
    const reply = await from.json(url, maxBytes);
    if (!reply.ok) return this.#failed(url, reply.reason, reply.fault);
    const reading = await read(url, reply.text);
    if (!reading.ok) return this.#failed(url, reading.reason, 'document');
    this.#cache.keep(url, reading.value, maxAgeSeconds(reply.cacheControl, fallbackTtlMs / 1_000), now());
    return reading;
  }

  #failed(url: string, reason: string, fault: DocumentFault): Failed {
    const failed: Failed = { ok: false, error: 'invalid', reason, fault };
    this.#cache.keepFailure(url, failed, this.#options.now());
    return failed;
  }
}

const MAX_FAILURES = 256;
export const FAILURE_MS = 30_000;
const MAX_AGE_S = { least: 60, most: 86_400 };

/** Cache of the most recently used documents, and for a short time of failures. Times are in ms. */
class DocumentCache<Value, Failure> {
  readonly #max: number;
  /** Least recently used first. */
  readonly #documents = new Map<string, { readonly value: Value; readonly freshUntil: number }>();
  readonly #failures = new Map<string, { readonly value: Failure; readonly until: number }>();

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#documents.size;
  }

  fresh(url: string, now: number): Value | undefined {
    const found = this.#documents.get(url);
    if (found === undefined || found.freshUntil <= now) return undefined;
    this.#documents.delete(url);
    this.#documents.set(url, found);
    return found.value;
  }

  /** Returns a document of any age. */
  known(url: string): Value | undefined {
    return this.#documents.get(url)?.value;
  }

  failure(url: string, now: number): Failure | undefined {
    const found = this.#failures.get(url);
    return found !== undefined && found.until > now ? found.value : undefined;
  }

  forgetFailures(): void {
    this.#failures.clear();
  }

  keep(url: string, value: Value, maxAgeSeconds: number, now: number): void {
    this.#failures.delete(url);
    setNewest(this.#documents, url, { value, freshUntil: now + maxAgeSeconds * 1000 }, this.#max);
  }

  /** Remembers a failure. A cached document stays. */
  keepFailure(url: string, value: Failure, now: number): void {
    setNewest(this.#failures, url, { value, until: now + FAILURE_MS }, MAX_FAILURES);
  }
}

/** Returns the lifetime of a reply: as stated, at least a minute and at most a day; `fallback` if not stated. @see RFC 9111 §5.2.2 */
export function maxAgeSeconds(cacheControl: string | undefined, fallback: number): number {
  const directives = (cacheControl ?? '').toLowerCase();
  if (/(?:^|[\s,])no-(?:store|cache)(?=$|[\s,=])/u.test(directives)) return MAX_AGE_S.least;
  const shared = /(?:^|[\s,])s-maxage="?(\d{1,9})/u.exec(directives)?.[1];
  const own = shared ?? /(?:^|[\s,])max-age="?(\d{1,9})/u.exec(directives)?.[1];
  if (own === undefined) return fallback;
  return Math.min(Math.max(Number(own), MAX_AGE_S.least), MAX_AGE_S.most);
}
