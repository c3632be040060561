import type { KeySet, KeySource } from '../../incoming/keys/key-set.ts';
import { ExpiringMap } from '../../kit/cache.ts';
import type { Client, ClientKeySet } from '../storage/records.ts';
import type { ClientHosts } from './documents/client-hosts.ts';
import { checkClientIdUrl, type HostPolicy } from './documents/client-id-url.ts';
import {
  FAILURE_MS,
  FetchedDocuments,
  type Failed,
  type DocumentReading,
  type SpendFetch,
} from './documents/fetched-documents.ts';
import { parseJsonObject } from './metadata/metadata-members.ts';
import { readPublicKeys } from './documents/public-keys.ts';
import { Flights } from '../../kit/tasks.ts';

/** The keys of a client cannot be read now, so that no signature can be verified. `message` is for the log. */
export class ClientKeysUnavailable extends Error {
  /** `busy`: too many requests are running; `down`: the keys cannot be fetched, or are unusable. */
  readonly why: 'busy' | 'down';
  readonly retryAfterSeconds: number;

  constructor(why: 'busy' | 'down', message: string) {
    super(message);
    this.name = 'ClientKeysUnavailable';
    this.why = why;
    this.retryAfterSeconds = why === 'busy' ? BUSY_SECONDS : FAILURE_MS / 1_000;
  }
}

/** Keys of one client for one request. Both methods reject with `ClientKeysUnavailable`. */
export type ClientKeySource = Pick<KeySource, 'current' | 'renew'>;

interface ClientKeysOptions {
  readonly hosts: HostPolicy;
  readonly from: ClientHosts;
  /** Lifetime of key sets whose reply does not state one. */
  readonly fallbackTtlMs: number;
  /** ms since the epoch */
  readonly now: () => number;
}

const BUSY_SECONDS = 5;
const MAX_BYTES = 64 * 1024;
const CACHE_SIZE = 256;
/** Shortest time between two fetches because of unknown key ids. */
const COOLDOWN_MS = 30_000;
const NO_KEYS: ClientKeySet = { keys: [] };

/** Public keys of clients with a metadata document. @see RFC 7591 §2 `jwks`, `jwks_uri` */
export class ClientKeys {
  readonly #options: ClientKeysOptions;
  readonly #fetched: FetchedDocuments<KeySet>;
  readonly #renewed: ExpiringMap<true>;
  readonly #renewals = new Flights<string, KeySet>();
  /** Parsed key sets of documents that contain their keys. */
  readonly #inline = new WeakMap<ClientKeySet, Promise<KeySet>>();

  constructor(options: ClientKeysOptions) {
    this.#options = options;
    this.#renewed = new ExpiringMap(options.now, undefined, CACHE_SIZE);
    const { from, fallbackTtlMs, now } = options;
    this.#fetched = new FetchedDocuments({ from, fallbackTtlMs, now, ...LIMITS, read: readKeySet });
  }

  /** Returns the keys of a client. `spend` is called before each fetch. */
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

  /** Returns older keys while newer ones cannot be fetched: token requests do not depend on the host of the keys. */
  async #current(url: string, spend: SpendFetch): Promise<KeySet> {
    this.#checkHost(url);
    const fetched = await this.#fetched.resolve(url, spend);
    return fetched.ok ? fetched.value : (this.#fetched.known(url) ?? fail(fetched));
  }

  async #renew(url: string, seen: KeySet, spend: SpendFetch): Promise<KeySet> {
    await this.#fetched.running(url); // a running fetch may have started before the key was published
    const known = this.#fetched.known(url);
    if (known !== undefined && known !== seen) return known;
    const failed = this.#fetched.failure(url);
    if (failed) fail(failed); // it is unknown whether the key exists
    if (this.#renewed.has(url)) return seen;
    return this.#renewals.run(url, () => this.#startRenewal(url, spend));
  }

  async #startRenewal(url: string, spend: SpendFetch): Promise<KeySet> {
    const fetched = await this.#fetched.renew(url, spend);
    if (!fetched.ok) fail(fetched);
    this.#renewed.set(url, true, COOLDOWN_MS);
    return fetched.value;
  }

  /** Throws when the configuration has denied the host since the document was read. */
  #checkHost(url: string): void {
    const problem = checkClientIdUrl(url, this.#options.hosts);
    if (problem !== undefined) throw new ClientKeysUnavailable('down', `jwks_uri ${problem}`);
  }
}

const LIMITS = { maxBytes: MAX_BYTES, cacheSize: CACHE_SIZE };

async function readKeySet(_url: string, text: string): Promise<DocumentReading<KeySet>> {
  const members = parseJsonObject(text);
  if (members === undefined) return { ok: false, reason: 'the key set is not a JSON object' };
  const keys = await readPublicKeys({ keys: members.get('keys') });
  return keys.ok
    ? { ok: true, value: keys.value.set }
    : { ok: false, reason: `the document at jwks_uri ${keys.reason}` };
}

function fail({ error, reason }: Failed): never {
  throw new ClientKeysUnavailable(error === 'busy' ? 'busy' : 'down', reason);
}
