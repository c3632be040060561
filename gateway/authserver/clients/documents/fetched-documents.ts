import type { ClientHosts } from './client-hosts.ts';
import { DocumentCache, maxAgeSeconds } from './document-cache.ts';

/** `reason` is for the log: nothing of a reply is in it. */
export type Reading<Value> =
  { readonly ok: true; readonly value: Value } | { readonly ok: false; readonly reason: string };

/** `invalid`: it cannot be had, or not be used; `busy`: too much is being fetched, ask again. */
export interface Failed {
  readonly ok: false;
  readonly error: 'invalid' | 'busy';
  readonly reason: string;
}

export type Fetched<Value> = { readonly ok: true; readonly value: Value } | Failed;

/** Charges who asks for one fetch; false when the budget is spent. Not called where nothing is fetched. */
export type SpendFetch = () => boolean | Promise<boolean>;

export interface FetchedDocumentsOptions<Value> {
  /** What a document says. */
  readonly read: (url: string, text: string) => Reading<Value> | Promise<Reading<Value>>;
  readonly from: ClientHosts;
  readonly maxBytes: number;
  /** Documents that are kept. */
  readonly cacheSize: number;
  /** How long a document without a lifetime of its own is kept. */
  readonly fallbackTtlMs: number;
  /** ms since the epoch */
  readonly now: () => number;
}

/** Documents at URLs of clients: each kept for as long as its reply says, and fetched by one request at a time. */
export class FetchedDocuments<Value> {
  readonly #options: FetchedDocumentsOptions<Value>;
  readonly #cache: DocumentCache<Value>;
  readonly #flights = new Map<string, Promise<Fetched<Value>>>();

  constructor(options: FetchedDocumentsOptions<Value>) {
    this.#options = options;
    this.#cache = new DocumentCache(options.cacheSize);
  }

  /** Never rejects for what the other side does. */
  async resolve(url: string, spend: SpendFetch): Promise<Fetched<Value>> {
    return this.#settled(url) ?? this.#paid(url, spend, () => this.#settled(url));
  }

  /** Again, however fresh it is; not within half a minute of a failure. */
  async renew(url: string, spend: SpendFetch): Promise<Fetched<Value>> {
    const settled = () => this.failure(url) ?? this.#flights.get(url);
    return settled() ?? this.#paid(url, spend, settled);
  }

  /** While its lifetime has not passed. */
  fresh(url: string): Value | undefined {
    return this.#cache.fresh(url, this.#options.now());
  }

  /** As it was seen last, however old that is. */
  known(url: string): Value | undefined {
    return this.#cache.known(url);
  }

  /** A request that is under way. */
  flight(url: string): Promise<Fetched<Value>> | undefined {
    return this.#flights.get(url);
  }

  /** The last request, if it failed a short while ago: until then there is no other. */
  failure(url: string): Failed | undefined {
    const reason = this.#cache.failure(url, this.#options.now());
    return reason === undefined ? undefined : { ok: false, error: 'invalid', reason };
  }

  #settled(url: string): Fetched<Value> | Promise<Fetched<Value>> | undefined {
    const value = this.fresh(url);
    return value === undefined ? (this.failure(url) ?? this.#flights.get(url)) : { ok: true, value };
  }

  /** `settled` is asked again: somebody else may have been faster. */
  async #paid(
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
    const flight = this.#fetch(url).finally(() => {
      release();
      this.#flights.delete(url);
    });
    this.#flights.set(url, flight);
    return flight;
  }

  async #fetch(url: string): Promise<Fetched<Value>> {
    const { from, maxBytes, read, now, fallbackTtlMs } = this.#options;
    const reply = await from.json(url, maxBytes);
    if (!reply.ok) return this.#failed(url, reply.reason);
    const reading = await read(url, reply.text);
    if (!reading.ok) return this.#failed(url, reading.reason);
    this.#cache.keep(url, reading.value, maxAgeSeconds(reply.cacheControl, fallbackTtlMs / 1_000), now());
    return reading;
  }

  #failed(url: string, reason: string): Failed {
    this.#cache.keepFailure(url, reason, this.#options.now());
    return { ok: false, error: 'invalid', reason };
  }
}
