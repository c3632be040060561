import type { Outbound, OutboundOptions, OutboundReply } from '../../outbound/fetch.ts';
import { OutboundError } from '../../outbound/outbound-error.ts';
import type { Client } from './client.ts';
import { readClientDocument, type DocumentReading, type DocumentRules } from './cimd-document.ts';
import { checkClientIdUrl, isLoopbackUrl, type HostPolicy } from './client-id-url.ts';
import { DocumentCache, maxAgeSeconds } from './document-cache.ts';
import { FetchSlots } from './fetch-slots.ts';

export interface ClientDocumentsOptions {
  readonly hosts: HostPolicy;
  readonly rules: DocumentRules;
  /** Documents that are kept. */
  readonly cacheSize?: number | undefined;
  /** How long a document without a lifetime of its own is kept. */
  readonly fallbackTtlMs?: number | undefined;
  /** ms since the epoch */
  readonly now: () => number;
  /** Every fetch goes through a guard of its policy. */
  readonly outbound: (options: OutboundOptions) => Outbound;
}

/**
 * `invalid` is an error page with `invalid_client`; `busy` a 429 with `temporarily_unavailable`: too many documents are
 * being fetched. `reason` is for the log: nothing of a reply is in it.
 */
export type DocumentResult =
  | { readonly ok: true; readonly client: Client }
  | { readonly ok: false; readonly error: 'invalid' | 'busy'; readonly reason: string };

/** Charges who asks for one fetch; false when the budget is spent. Not called where nothing is fetched. */
export type SpendFetch = () => boolean | Promise<boolean>;

const CACHE_SIZE = 256;
const FALLBACK_TTL_MS = 300_000;
const MAX_BYTES = 10 * 1024;
const TIMEOUT_MS = 5_000;
const SLOTS = { overall: 10, perHost: 2 };
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json$/u;

/** Clients whose id is the address of a document about them. @see draft-ietf-oauth-client-id-metadata-document */
export class ClientDocuments {
  readonly #hosts: HostPolicy;
  readonly #rules: DocumentRules;
  readonly #now: () => number;
  readonly #fallbackSeconds: number;
  readonly #cache: DocumentCache;
  readonly #slots = new FetchSlots(SLOTS);
  readonly #flights = new Map<string, Promise<DocumentResult>>();
  readonly #outbound: Outbound;
  /** For client ids on a loopback host, where those are allowed: a public name never gets there. */
  readonly #development: Outbound | undefined;

  constructor(options: ClientDocumentsOptions) {
    const { hosts, rules, cacheSize = CACHE_SIZE, fallbackTtlMs = FALLBACK_TTL_MS, now, outbound } = options;
    this.#fallbackSeconds = fallbackTtlMs / 1_000;
    this.#hosts = hosts;
    this.#rules = rules;
    this.#now = now;
    this.#cache = new DocumentCache(cacheSize);
    const open = (allowLoopback: boolean): Outbound =>
      outbound({ policy: { allowPrivate: false, allowHttp: false, allowLoopback } });
    this.#outbound = open(false);
    this.#development = hosts.allowLoopbackHttp ? open(true) : undefined;
  }

  /** The client behind a client id of which `isClientIdUrl` is true. Never rejects for what the other side does. */
  async resolve(clientId: string, spend: SpendFetch): Promise<DocumentResult> {
    const problem = checkClientIdUrl(clientId, this.#hosts);
    if (problem !== undefined) return { ok: false, error: 'invalid', reason: `the client id ${problem}` };
    const settled = this.#settled(clientId);
    if (settled) return settled;
    if (!(await spend())) return { ok: false, error: 'busy', reason: 'the budget of fetches is spent' };
    return this.#settled(clientId) ?? this.#start(clientId);
  }

  /** As it was seen last, without asking: token requests do not depend on the host of the document. */
  snapshot(clientId: string): Client | undefined {
    return this.#cache.known(clientId);
  }

  /** Running fetches fail. */
  async close(): Promise<void> {
    await Promise.all([this.#outbound.close(), this.#development?.close()]);
  }

  #settled(clientId: string): DocumentResult | Promise<DocumentResult> | undefined {
    const client = this.#cache.fresh(clientId, this.#now());
    if (client) return { ok: true, client };
    const reason = this.#cache.failure(clientId, this.#now());
    if (reason !== undefined) return { ok: false, error: 'invalid', reason };
    return this.#flights.get(clientId);
  }

  #start(clientId: string): Promise<DocumentResult> | DocumentResult {
    const release = this.#slots.take(new URL(clientId).hostname);
    if (!release) return { ok: false, error: 'busy', reason: 'too many documents are being fetched' };
    const flight = this.#fetch(clientId).finally(() => {
      release();
      this.#flights.delete(clientId);
    });
    this.#flights.set(clientId, flight);
    return flight;
  }

  async #fetch(clientId: string): Promise<DocumentResult> {
    try {
      const reply = await this.#request(clientId);
      const reading = this.#read(clientId, reply);
      if (!reading.ok) return this.#failed(clientId, reading.reason);
      this.#cache.keep(
        reading.client,
        maxAgeSeconds(reply.headers['cache-control'], this.#fallbackSeconds),
        this.#now(),
      );
      return reading;
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error;
      return this.#failed(clientId, error.message);
    }
  }

  #request(url: string): Promise<OutboundReply> {
    const outbound = (isLoopbackUrl(url) && this.#development) || this.#outbound;
    const limits = { maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS, followRedirects: false };
    return outbound.request({ url, method: 'GET', headers: { accept: 'application/json' }, ...limits });
  }

  #read(clientId: string, { status, contentType, body }: OutboundReply): DocumentReading {
    if (status !== 200) return { ok: false, reason: `the document was answered with ${String(status)}` };
    if (!JSON_TYPE.test(contentType)) return { ok: false, reason: 'the document is not JSON by its content type' };
    return readClientDocument(clientId, body, this.#rules, this.#now());
  }

  #failed(clientId: string, reason: string): DocumentResult {
    this.#cache.keepFailure(clientId, reason, this.#now());
    return { ok: false, error: 'invalid', reason };
  }
}
