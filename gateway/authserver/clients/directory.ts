import type { Outbound, OutboundOptions } from '../../outbound/fetch.ts';
import type { SecretRing } from '../core/opaque-token.ts';
import type { AuthServerSettings } from '../settings.ts';
import { ExpiringMap } from '../../kit/cache.ts';
import type { Store } from '../storage/store.ts';
import { addressKey, EVERYBODY } from '../../http/client-address.ts';
import { ClientDocuments, MAX_BYTES } from './documents/cimd.ts';
import { ClientHosts, type DocumentFault } from './documents/client-hosts.ts';
import { checkClientIdUrl, isClientIdUrl } from './documents/client-id-url.ts';
import { DocumentReach } from './documents/document-reach.ts';
import { preloadedClient } from './documents/preloaded-documents.ts';
import { ClientKeys, type ClientKeySource } from './client-keys.ts';
import type { Client, ClientMetadata } from '../storage/records.ts';
import type { DelegateClients } from './delegate-clients.ts';
import { createSealedClients, isSealedClient } from './sealed-clients.ts';
import type { Logger } from '../../contract/logger.ts';

type ClientLookup =
  | { readonly ok: true; readonly client: Client }
  /** `busy`: retry after some seconds. */
  | { readonly ok: false; readonly reason: 'unknown' | 'busy'; readonly detail: string }
  /** `document`: the document at the client id is unusable; `unreachable`: its host is. */
  | {
      readonly ok: false;
      readonly reason: 'document' | 'unreachable';
      readonly detail: string;
      readonly fault: DocumentFault;
    };

type Admission =
  | { readonly ok: true; readonly client: Client }
  /** The table is full, and the registration is too long for a client id. */
  | { readonly ok: false; readonly retryAfterMs: number };

/** Registered clients and clients with a metadata document. Every method rejects with `StoreUnavailable`. */
export interface ClientDirectory {
  /**
   * Admits a new client. While the table is full, its registration becomes part of its client id, which differs from the given
   * one, and moves into the store when the client first uses a token: only a login of a user takes room.
   */
  register(client: Client): Promise<Admission>;
  /** Finds a client for an authorization request. May fetch its document, on the budget of `address`. */
  find(clientId: string, address: string | undefined): Promise<ClientLookup>;
  /** Returns the latest known copy of a client. Fetches nothing, so that token requests do not depend on its host. */
  known(clientId: string): Promise<Client | undefined>;
  /**
   * Returns the keys of a known client for its assertions. Keys at a `jwks_uri` are fetched on the budget of `address`.
   * Returns undefined when metadata documents are disabled.
   */
  keys(client: Client, address: string | undefined): ClientKeySource | undefined;
  /** Extends the lifetime of a client to 30 days when it uses a token. */
  renew(client: Client): Promise<void>;
  /** Deletes a registered client. Its id stays unknown. */
  delete(client: Client): Promise<void>;
  /** Use of metadata documents. `cutOff`: no host of a client can be reached. */
  documents(): { readonly advertised: boolean; readonly cutOff: boolean };
  close(): Promise<void>;
}

interface ClientDirectoryDeps {
  readonly settings: Pick<AuthServerSettings, 'clients' | 'limits' | 'urls'>;
  readonly store: Pick<Store, 'clients' | 'rates'>;
  /** ms since the epoch. */
  readonly now: () => number;
  /** Returns the current HMAC secrets. */
  readonly secrets: () => SecretRing;
  readonly log: Logger;
  readonly outbound: (options: OutboundOptions) => Outbound;
  /** Configured clients, which take precedence and cannot begin a login. */
  readonly delegates?: Pick<DelegateClients, 'get'> | undefined;
}

const HOUR_MS = 3_600_000;
/**
 * Lifetimes of a client. `unused`: until its first token; `contested`: the same while the limit of clients is reached, which is
 * longer than a login attempt. `document`: of a copy until the first token; another one is stored with a later attempt.
 */
const LIFE_MS = { unused: 24 * HOUR_MS, contested: HOUR_MS, document: 2 * HOUR_MS, idle: 30 * 24 * HOUR_MS } as const;
/** Shortest time between two writes of the same fact to the store. */
const REWRITE_AFTER_MS = HOUR_MS;
const MAX_TOLD = 10_000;
/** Metadata of a deleted client. */
const NONE: ClientMetadata = {
  redirect_uris: [],
  token_endpoint_auth_method: 'none',
  grant_types: [],
  response_types: ['code'],
  scope: '',
};
const UNKNOWN: ClientLookup = { ok: false, reason: 'unknown', detail: 'no client has this id' };

export function createClientDirectory(deps: ClientDirectoryDeps): ClientDirectory {
  const { settings, delegates } = deps;
  const documents = openDocuments(deps);
  const { registered, ...changes } = registeredClients(deps);
  return {
    ...changes,
    async find(clientId, address) {
      if (documents && isClientIdUrl(clientId)) return documents.find(clientId, address);
      const client = await registered(clientId);
      return client && client.source !== 'document' ? { ok: true, client } : UNKNOWN;
    },
    async known(clientId) {
      const delegate = delegates?.get(clientId);
      if (delegate) return delegate;
      if (isClientIdUrl(clientId)) return isAllowed(clientId, settings) ? documents?.known(clientId) : undefined;
      return registered(clientId);
    },
    keys: (client, address) => documents?.keys(client, address),
    documents: () => ({
      advertised: documents?.reach.isAdvertised ?? false,
      cutOff: documents?.reach.isCutOff ?? false,
    }),
    close: async () => documents?.close(),
  };
}

type Registered = Pick<ClientDirectory, 'register' | 'renew' | 'delete'> & {
  readonly registered: (clientId: string) => Promise<Client | undefined>;
};

/** Registered clients: in the store or, as long as they are unused, in their client id. */
function registeredClients({ settings, store: { clients }, now, secrets }: ClientDirectoryDeps): Registered {
  const sealed = createSealedClients({ urls: settings.urls, secrets, now, lifeMs: LIFE_MS.unused });
  const renewed = new ExpiringMap<true>(now, undefined, MAX_TOLD);
  return {
    async registered(clientId) {
      const stored = await clients.get(clientId);
      if (!stored) return sealed.open(clientId);
      return stored.source === 'deleted' ? undefined : stored;
    },
    async register(client) {
      const { unused, contested } = LIFE_MS;
      const outcome = await clients.register(client, unused, settings.clients.maxRegistered, contested);
      if (outcome.kind === 'exists') throw new Error('a random client id exists already');
      if (outcome.kind === 'registered') return { ok: true, client };
      const alone = sealed.seal(client);
      return alone ? { ok: true, client: alone } : { ok: false, retryAfterMs: outcome.retryAfterMs };
    },
    async renew(client) {
      const { client_id: clientId } = client;
      if (renewed.has(clientId)) return;
      if (isSealedClient(clientId)) await clients.register(client, LIFE_MS.unused, 0); // changes no stored or deleted one
      await clients.renew(clientId, LIFE_MS.idle);
      renewed.set(clientId, true, REWRITE_AFTER_MS);
    },
    async delete({ client_id: clientId, issuedAt }) {
      const openMs = sealed.remainingMs(clientId);
      await clients.delete(clientId);
      if (openMs > 0) await clients.put({ client_id: clientId, source: 'deleted', metadata: NONE, issuedAt }, openMs);
    },
  };
}

/** Returns false for a client whose host the configuration denies, even if it has logins. */
const isAllowed = (clientId: string, { clients: { documents } }: Pick<AuthServerSettings, 'clients'>): boolean =>
  documents !== undefined && checkClientIdUrl(clientId, documents.hosts) === undefined;

interface StoredDocuments {
  readonly reach: DocumentReach;
  find(clientId: string, address: string | undefined): Promise<ClientLookup>;
  known(clientId: string): Promise<Client | undefined>;
  keys(client: Client, address: string | undefined): ClientKeySource;
  close(): Promise<void>;
}

/** Opens the metadata documents and the copies of them in the store, which make their clients known to other replicas. */
function openDocuments({ settings, store, now, log, outbound }: ClientDirectoryDeps): StoredDocuments | undefined {
  const { documents: wanted, metadata } = settings.clients;
  if (!wanted) return undefined;
  const { hosts, allowCrossOriginRedirects, cacheSize, fallbackTtlMs } = wanted;
  const { advertise = 'auto', preloaded = [], probePausesMs: pausesMs } = wanted;
  const reach: DocumentReach = new DocumentReach({
    ...{ advertise, now, log, pausesMs },
    probe: (url) => from.json(url, MAX_BYTES),
    onReturn: () => {
      documents.forgetFailures();
    },
  });
  const from = new ClientHosts({ hosts, outbound, reach });
  const rules = { hosts, metadata, allowCrossOriginRedirects };
  const documents = new ClientDocuments({ rules, from, cacheSize, fallbackTtlMs, now });
  const keys = new ClientKeys({ hosts, from, fallbackTtlMs, now });
  const copied = new ExpiringMap<Client>(now, undefined, MAX_TOLD);
  const described = (clientId: string): Client | undefined => preloadedClient(clientId, preloaded, rules, now());

  const copy = async (client: Client): Promise<void> => {
    const { client_id: clientId } = client;
    if (copied.get(clientId) === client) return;
    await store.clients.put(client, LIFE_MS.document); // keeps the later expiry of a client in use
    copied.set(clientId, client, REWRITE_AFTER_MS);
  };

  /** Returns the budget of an address, shared by documents and keys. */
  const spendOf = (address: string | undefined) => async (): Promise<boolean> => {
    const { documentFetchesPerAddress: perAddress, documentFetches: overall } = settings.limits;
    const [key, limit] = address === undefined ? [EVERYBODY, overall] : [addressKey(address), perAddress];
    return (await store.rates.take('client-document', key, limit)).allowed;
  };

  return {
    reach,
    async find(clientId, address) {
      const given = described(clientId);
      const result = given ? { ok: true as const, client: given } : await documents.resolve(clientId, spendOf(address));
      if (!result.ok) {
        const { reason: detail } = result;
        log.debug('client metadata document is unusable', { client_id: clientId, reason: detail });
        if (result.error === 'busy') return { ok: false, reason: 'busy', detail };
        const { fault } = result;
        const isUnreachable = fault === 'unreachable' || fault === 'proxy';
        return { ok: false, reason: isUnreachable ? 'unreachable' : 'document', detail, fault };
      }
      await copy(result.client);
      return { ok: true, client: result.client };
    },
    // Another replica may have stored a newer copy, in which a key was removed.
    known: async (clientId) =>
      described(clientId) ??
      documents.fresh(clientId) ??
      (await store.clients.get(clientId)) ??
      documents.snapshot(clientId),
    keys: (client, address) => keys.of(client, spendOf(address)),
    async close() {
      reach.close();
      await from.close();
    },
  };
}
