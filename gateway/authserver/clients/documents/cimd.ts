import type { Client } from '../../storage/records.ts';
import { readClientDocument, type DocumentRules } from './cimd-document.ts';
import type { ClientHosts } from './client-hosts.ts';
import { checkClientIdUrl } from './client-id-url.ts';
import { faultOfClientId } from './document-fault.ts';
import { FetchedDocuments, type Failed, type SpendFetch } from './fetched-documents.ts';

export interface ClientDocumentsOptions {
  readonly rules: DocumentRules;
  readonly from: ClientHosts;
  /** Number of documents in the cache. */
  readonly cacheSize: number;
  /** Lifetime of documents whose reply does not state one. */
  readonly fallbackTtlMs: number;
  /** ms since the epoch */
  readonly now: () => number;
}

/**
 * `invalid` leads to an error page with `invalid_client`. `busy` leads to a 429 with `temporarily_unavailable`: too many
 * documents are being fetched. `reason` is for the log and contains nothing from a reply.
 */
export type DocumentResult = { readonly ok: true; readonly client: Client } | Failed;

export const MAX_BYTES = 10 * 1024;

/** Clients whose id is the URL of their metadata document. @see draft-ietf-oauth-client-id-metadata-document */
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

  /** Fetches the client of a client id that `isClientIdUrl` accepts. Failures of the host never cause a rejection. */
  async resolve(clientId: string, spend: SpendFetch): Promise<DocumentResult> {
    const problem = checkClientIdUrl(clientId, this.#rules.hosts);
    if (problem !== undefined) {
      const fault = faultOfClientId(clientId, problem);
      return { ok: false, error: 'invalid', reason: `the client id ${problem}`, fault };
    }
    const fetched = await this.#documents.resolve(clientId, spend);
    return fetched.ok ? { ok: true, client: fetched.value } : fetched;
  }

  /** Forgets failures, because hosts can be reached again. */
  forgetFailures(): void {
    this.#documents.forgetFailures();
  }

  /** Returns a cached client whose lifetime has not passed. */
  fresh(clientId: string): Client | undefined {
    return this.#documents.fresh(clientId);
  }

  /** Returns the latest known client without a request: token requests do not depend on the host of the document. */
  snapshot(clientId: string): Client | undefined {
    return this.#documents.known(clientId);
  }
}
