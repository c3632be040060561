import { FetchFailure, type JsonDocument, type JsonGet } from './json-get.ts';
import { isObject, textsIn } from '../../contract/json.ts';
import { SingleFlight } from '../../kit/tasks.ts';

/** Members of an issuer's metadata that are used here. @see RFC 8414 §2 */
export interface IssuerMetadata {
  readonly jwksUri: string | undefined;
  readonly introspectionEndpoint: string | undefined;
  readonly introspectionAuthMethods: readonly string[] | undefined;
  /** Algorithms of assertions by which clients authenticate at that endpoint. */
  readonly introspectionAuthAlgorithms: readonly string[] | undefined;
}

const MAX_AGE_MS = 24 * 3_600_000;

/** Candidate URLs of the metadata document, in the order of MCP 2025-11-25, Authorization Server Metadata Discovery. */
export function wellKnownUrls(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const inserted = ['oauth-authorization-server', 'openid-configuration'].map(
    (name) => `${origin}/.well-known/${name}${path}`,
  );
  return path === '' ? inserted : [...inserted, `${origin}${path}/.well-known/openid-configuration`];
}

/** Finds and caches the metadata of one issuer. Concurrent requests share one fetch. */
export class IssuerDiscovery {
  readonly #issuer: string;
  readonly #get: JsonGet;
  readonly #now: () => number;
  #found: { readonly metadata: IssuerMetadata; readonly until: number } | undefined;
  readonly #flight = new SingleFlight<IssuerMetadata>();

  constructor(issuer: string, get: JsonGet, now: () => number) {
    this.#issuer = issuer;
    this.#get = get;
    this.#now = now;
  }

  /** Rejects with `FetchFailure`. */
  async metadata(): Promise<IssuerMetadata> {
    if (this.#found && this.#found.until > this.#now()) return this.#found.metadata;
    return this.#flight.run(() => this.#find());
  }

  /** Discards the cached metadata because its URLs do not work. */
  forget(): void {
    this.#found = undefined;
  }

  async #find(): Promise<IssuerMetadata> {
    const metadata = await findMetadata(this.#issuer, this.#get);
    this.#found = { metadata, until: this.#now() + MAX_AGE_MS };
    return metadata;
  }
}

/**
 * Returns the first document with this issuer and a key set URL, or else a document of this issuer without one.
 * Skips other replies, because servers answer unknown paths in many ways. Rejects with the most informative
 * failure.
 */
async function findMetadata(issuer: string, get: JsonGet): Promise<IssuerMetadata> {
  const failures: FetchFailure[] = [];
  let keyless: IssuerMetadata | undefined;
  for (const url of wellKnownUrls(issuer)) {
    try {
      const metadata = read(await get(url), url, issuer);
      if (metadata.jwksUri !== undefined) return withIntrospection(metadata, keyless);
      keyless ??= metadata;
    } catch (error) {
      if (!(error instanceof FetchFailure)) throw error;
      failures.push(error);
      if (error.status === undefined && !PASSED_OVER.has(error.reason)) break; // the host is unreachable
    }
  }
  if (keyless) return keyless;
  throw (
    failures.find(({ reason }) => reason === 'IssuerMismatch') ??
    failures[0] ??
    new Error('no URL of a discovery document')
  );
}

/** Merges two documents of one issuer: one may name the key set, the other the introspection endpoint. */
function withIntrospection(metadata: IssuerMetadata, other: IssuerMetadata | undefined): IssuerMetadata {
  return metadata.introspectionEndpoint === undefined && other ? { ...other, jwksUri: metadata.jwksUri } : metadata;
}

const PASSED_OVER = new Set(['NotJson', 'NotMetadata', 'IssuerMismatch', 'RedirectRefused', 'ReplyTooLarge']);

/** Rejects a document with another issuer: its keys may belong to somebody else. @see RFC 8414 §3.3 */
function read({ document }: JsonDocument, url: string, issuer: string): IssuerMetadata {
  if (!isObject(document))
    throw new FetchFailure('NotMetadata', `${url} is not a metadata document`, { dependency: 'discovery' });
  if (document['issuer'] !== issuer) {
    const message = `${url} is the document of another issuer than ${issuer}${named(document['issuer'])}`;
    throw new FetchFailure('IssuerMismatch', message, { dependency: 'discovery' });
  }
  return {
    jwksUri: textOf(document['jwks_uri']),
    introspectionEndpoint: textOf(document['introspection_endpoint']),
    introspectionAuthMethods: textsIn(document['introspection_endpoint_auth_methods_supported']),
    introspectionAuthAlgorithms: textsIn(document['introspection_endpoint_auth_signing_alg_values_supported']),
  };
}

/** Returns the issuer that a document names, for an administrator: it often differs by a slash only. */
const named = (issuer: unknown): string =>
  typeof issuer === 'string' && /^[\x21-\x7E]{1,200}$/u.test(issuer) ? `: it names ${issuer}` : '';

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** Fetches the key set that the issuer's metadata names. After a failure the next call fetches the metadata again. */
export async function discoveredKeys(discovery: IssuerDiscovery, get: JsonGet): Promise<JsonDocument> {
  const { jwksUri } = await discovery.metadata();
  if (jwksUri === undefined) {
    discovery.forget();
    throw new FetchFailure('NoKeySet', 'the metadata of the issuer names no jwks_uri', { dependency: 'discovery' });
  }
  try {
    return await get(jwksUri);
  } catch (error) {
    discovery.forget();
    throw error;
  }
}
