import type { Client } from './client.ts';

export type ClientLookup =
  | { readonly ok: true; readonly client: Client }
  /** `document`: what stands at the client's URL cannot be used; `busy`: ask again after some seconds. */
  | { readonly ok: false; readonly reason: 'unknown' | 'document' | 'busy'; readonly detail: string };

/** Every client that is known, wherever it is from. Rejects with `StoreUnavailable`. */
export interface ClientDirectory {
  /** For an authorization request: a document may be fetched, on the budget of `address`. */
  find(clientId: string, address: string): Promise<ClientLookup>;
  /** For every other request: as it was seen last. Nothing is fetched, so nothing depends on the document's host. */
  known(clientId: string): Promise<Client | undefined>;
  /** On use of a token: from now on a registered client lives 30 days. */
  renew(client: Client): Promise<void>;
  close(): Promise<void>;
}
