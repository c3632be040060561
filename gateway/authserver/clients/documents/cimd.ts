import type { Client } from '../../storage/client.ts';
import { readClientDocument, type DocumentRules } from './cimd-document.ts';
import type { ClientHosts } from './client-hosts.ts';
import { checkClientIdUrl } from './client-id-url.ts';
import { FetchedDocuments, type SpendFetch } from './fetched-documents.ts';

export interface ClientDocumentsOptions {
  readonly rules: DocumentRules;
  readonly from: ClientHosts;
  /** Documents that are kept. */
  readonly cacheSize: number;
  /** How long a document without a lifetime of its own is kept. */
  readonly fallbackTtlMs: number;
  /** ms since the epoch */
  readonly now: () => number;
}

/**
 * `invalid` is an error page with `invalid_client`; `busy` a 429 with `temporarily_unavailable`: too many documents are
 * being fetched. `reason` is for the log: nothing of a reply is in it.
 */
export type DocumentResult =
  | { readonly ok: true; readonly client: Client }
  | { readonly ok: false; readonly error: 'invalid' | 'busy'; readonly reason: string };

const MAX_BYTES = 10 * 1024;

/** Clients whose id is the address of a document about them. @see draft-ietf-oauth-client-id-metadata-document */
export class ClientDocuments {
  readonly #rules: DocumentRules;
  readonly #documents: FetchedDocuments<Client>;

  constructor({ rules, now, ...options }: ClientDocumentsOptions) {
    this.#rules = rules;
    this.#documents = new FetchedDocuments({
      ...options,
      now,
      maxBytes: MAX_BYTES,
      read: (clientId, text) => readClientDocument(clientId, text, rules, now()),
    });
  }

  /** The client behind a client id of which `isClientIdUrl` is true. Never rejects for what the other side does. */
  async resolve(clientId: string, spend: SpendFetch): Promise<DocumentResult> {
    const problem = checkClientIdUrl(clientId, this.#rules.hosts);
    if (problem !== undefined) return { ok: false, error: 'invalid', reason: `the client id ${problem}` };
    const fetched = await this.#documents.resolve(clientId, spend);
    return fetched.ok ? { ok: true, client: fetched.value } : fetched;
  }

  /** While its lifetime has not passed, without asking. */
  fresh(clientId: string): Client | undefined {
    return this.#documents.fresh(clientId);
  }

  /** As it was seen last, without asking: token requests do not depend on the host of the document. */
  snapshot(clientId: string): Client | undefined {
    return this.#documents.known(clientId);
  }
}
