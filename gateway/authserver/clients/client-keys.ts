import type { KeySet, KeySource } from '../../incoming/key-set.ts';
import { ExpiringMap } from '../storage/expiring-map.ts';
import type { Client, ClientKeySet } from '../storage/client.ts';
import type { ClientHosts } from './documents/client-hosts.ts';
import { checkClientIdUrl, type HostPolicy } from './documents/client-id-url.ts';
import { FAILURE_MS } from './documents/document-cache.ts';
import { FetchedDocuments, type Failed, type Reading, type SpendFetch } from './documents/fetched-documents.ts';
import { parseJsonObject } from './metadata/json-object.ts';
import { readPublicKeys } from './documents/public-keys.ts';

/** Nobody can say now whether a signature is good. `message` is for the log. */
export class ClientKeysUnavailable extends Error {
  /** `busy`: too much is being fetched; `down`: the keys cannot be had, or not be used. */
  readonly why: 'busy' | 'down';
  readonly retryAfterSeconds: number;

  constructor(why: 'busy' | 'down', message: string) {
    super(message);
    this.name = 'ClientKeysUnavailable';
    this.why = why;
    this.retryAfterSeconds = why === 'busy' ? BUSY_SECONDS : FAILURE_MS / 1_000;
  }
}

/** The keys of one client for one request. Both reject with `ClientKeysUnavailable`. */
export type ClientKeySource = Pick<KeySource, 'current' | 'renew'>;

export interface ClientKeysOptions {
  readonly hosts: HostPolicy;
  readonly from: ClientHosts;
  /** Key sets without a lifetime of their own are kept that long. */
  readonly fallbackTtlMs: number;
  /** ms since the epoch */
  readonly now: () => number;
}

const BUSY_SECONDS = 5;
const MAX_BYTES = 64 * 1024;
const CACHE_SIZE = 256;
/** Between two fetches that signatures by unknown keys ask for. */
const COOLDOWN_MS = 30_000;
const NO_KEYS: ClientKeySet = { keys: [] };

/** Keys by which clients that are documents sign. @see RFC 7591 §2 `jwks`, `jwks_uri` */
export class ClientKeys {
  readonly #options: ClientKeysOptions;
  readonly #fetched: FetchedDocuments<KeySet>;
  readonly #renewed: ExpiringMap<true>;
  readonly #renewals = new Map<string, Promise<KeySet>>();
  /** By the key set of a document. */
  readonly #inline = new WeakMap<ClientKeySet, Promise<KeySet>>();

  constructor(options: ClientKeysOptions) {
    this.#options = options;
    this.#renewed = new ExpiringMap(options.now);
    const { from, fallbackTtlMs, now } = options;
    this.#fetched = new FetchedDocuments({ from, fallbackTtlMs, now, ...LIMITS, read: readKeySet });
  }

  /** `spend` pays for what is fetched. */
  of({ metadata: { jwks = NO_KEYS, jwks_uri: url } }: Client, spend: SpendFetch): ClientKeySource {
    if (url === undefined) return { current: () => this.#read(jwks), renew: (seen) => seen };
    return { current: () => this.#current(url, spend), renew: (seen) => this.#renew(url, seen, spend) };
  }

  #read(jwks: ClientKeySet): Promise<KeySet> {
    const known = this.#inline.get(jwks);
    if (known) return known;
    const read = readPublicKeys(jwks).then((keys) => {
      if (keys.ok) return keys.value.set;
      throw new ClientKeysUnavailable('down', `jwks ${keys.reason}`);
    });
    this.#inline.set(jwks, read);
    return read;
  }

  /** Older ones while newer cannot be had: a token request does not depend on the host of the keys. */
  async #current(url: string, spend: SpendFetch): Promise<KeySet> {
    this.#admit(url);
    const fetched = await this.#fetched.resolve(url, spend);
    return fetched.ok ? fetched.value : (this.#fetched.known(url) ?? fail(fetched));
  }

  async #renew(url: string, seen: KeySet, spend: SpendFetch): Promise<KeySet> {
    await this.#fetched.flight(url); // it may have begun before the key came
    const known = this.#fetched.known(url);
    if (known !== undefined && known !== seen) return known;
    const failed = this.#fetched.failure(url);
    if (failed) fail(failed); // nobody can say whether the key exists
    if (this.#renewed.has(url)) return seen;
    return this.#renewals.get(url) ?? this.#startRenewal(url, spend);
  }

  #startRenewal(url: string, spend: SpendFetch): Promise<KeySet> {
    const renewal = this.#fetched
      .renew(url, spend)
      .then((fetched) => {
        if (!fetched.ok) fail(fetched);
        this.#renewed.dropOldest(CACHE_SIZE);
        this.#renewed.set(url, true, COOLDOWN_MS);
        return fetched.value;
      })
      .finally(() => this.#renewals.delete(url));
    this.#renewals.set(url, renewal);
    return renewal;
  }

  /** The operator may have denied the host since the document was read. */
  #admit(url: string): void {
    const problem = checkClientIdUrl(url, this.#options.hosts);
    if (problem !== undefined) throw new ClientKeysUnavailable('down', `jwks_uri ${problem}`);
  }
}

const LIMITS = { maxBytes: MAX_BYTES, cacheSize: CACHE_SIZE };

async function readKeySet(_url: string, text: string): Promise<Reading<KeySet>> {
  const members = parseJsonObject(text);
  if (members === undefined) return { ok: false, reason: 'the key set is no JSON object' };
  const keys = await readPublicKeys({ keys: members.get('keys') });
  return keys.ok
    ? { ok: true, value: keys.value.set }
    : { ok: false, reason: `the document at jwks_uri ${keys.reason}` };
}

function fail({ error, reason }: Failed): never {
  throw new ClientKeysUnavailable(error === 'busy' ? 'busy' : 'down', reason);
}
