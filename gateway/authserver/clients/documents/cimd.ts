import type { Client, ClientMetadata } from '../../storage/records.ts';
import { faultOfClientId, type ClientHosts } from './client-hosts.ts';
import { checkClientIdUrl, isLoopbackUrl, type HostPolicy } from './client-id-url.ts';
import { FetchedDocuments, type Failed, type DocumentReading, type SpendFetch } from './fetched-documents.ts';
import { ALGORITHMS } from '../../../incoming/tokens/jwt.ts';
import { readMetadata, type MetadataRules } from '../metadata/client-metadata.ts';
import { parseJsonObject } from '../metadata/metadata-members.ts';
import { readPublicKeys } from './public-keys.ts';

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
type DocumentResult = { readonly ok: true; readonly client: Client } | Failed;

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

export interface DocumentRules {
  readonly hosts: HostPolicy;
  readonly metadata: MetadataRules;
  /** Allow https redirect URIs on hosts other than the document's host and its subdomains. */
  readonly allowCrossOriginRedirects: boolean;
}

type Members = ReadonlyMap<string, unknown>;

const unusable = (reason: string): { readonly ok: false; readonly reason: string } => ({ ok: false, reason });

/**
 * Reads the client from the text of the document at `clientId`.
 * @see draft-ietf-oauth-client-id-metadata-document §4
 */
export async function readClientDocument(
  clientId: string,
  body: string,
  rules: DocumentRules,
  now: number,
): Promise<DocumentReading<Client>> {
  const members = parseJsonObject(body);
  if (members === undefined) return unusable('the document is not a JSON object');
  if (members.get('client_id') !== clientId) return unusable('the document names another client_id');
  for (const name of ['client_secret', 'client_secret_expires_at']) {
    if (members.has(name)) return unusable(`the document has ${name}: it is public`);
  }
  const reading = readMetadata(members, rules.metadata, 'document');
  if (!reading.ok) return unusable(reading.problems.map(({ message }) => message).join('; '));
  const { metadata } = reading;
  if (metadata.client_name === undefined) return unusable('client_name is required');
  if (!rules.allowCrossOriginRedirects && metadata.redirect_uris.some((uri) => isForeign(uri, clientId)))
    return unusable(
      'redirect_uris lead to another host than that of the document, which cimd.allowCrossOriginRedirects: false forbids',
    );
  const keys = await readKeys(members, clientId, rules, metadata);
  if (!keys.ok) return keys;
  const client: Client = { client_id: clientId, source: 'document', metadata: keys.value, issuedAt: now };
  return { ok: true, value: client };
}

function isForeign(redirectUri: string, clientId: string): boolean {
  const [{ protocol, hostname }, own] = [new URL(redirectUri), new URL(clientId).hostname];
  return protocol === 'https:' && hostname !== own && !hostname.endsWith(`.${own}`);
}

/** Reads the keys for `private_key_jwt`; ignores them for other methods. @see RFC 7591 §2 */
async function readKeys(
  members: Members,
  clientId: string,
  { hosts }: DocumentRules,
  metadata: ClientMetadata,
): Promise<DocumentReading<ClientMetadata>> {
  if (metadata.token_endpoint_auth_method !== 'private_key_jwt') return { ok: true, value: metadata };
  const [jwks, jwksUri, alg] = ['jwks', 'jwks_uri', 'token_endpoint_auth_signing_alg'].map(
    (name) => members.get(name) ?? undefined,
  );
  if ((jwks === undefined) === (jwksUri === undefined))
    return unusable('private_key_jwt needs either jwks or jwks_uri');
  if (alg !== undefined && !ALGORITHMS.some((one) => one === alg))
    return unusable(`token_endpoint_auth_signing_alg must be one of ${ALGORITHMS.join(', ')}`);
  const common = { ...metadata, ...(typeof alg === 'string' && { token_endpoint_auth_signing_alg: alg }) };
  if (jwks === undefined) {
    if (typeof jwksUri !== 'string') return unusable('jwks_uri must be a URL');
    const problem = checkKeysUrl(jwksUri, clientId, hosts);
    if (problem !== undefined) return unusable(`jwks_uri ${problem}`);
    return { ok: true, value: { ...common, jwks_uri: jwksUri } };
  }
  const keys = await readPublicKeys(jwks);
  return keys.ok ? { ok: true, value: { ...common, jwks: keys.value.jwks } } : unusable(`jwks ${keys.reason}`);
}

/** Applies the rules of client ids to a `jwks_uri`. A public document must not name keys on a loopback host. */
const checkKeysUrl = (url: string, clientId: string, hosts: HostPolicy): string | undefined =>
  checkClientIdUrl(url, { ...hosts, allowLoopbackHttp: hosts.allowLoopbackHttp && isLoopbackUrl(clientId) });
