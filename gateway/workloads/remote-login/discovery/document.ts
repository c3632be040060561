import { toUpstreamError, UpstreamError } from '../../../authserver/upstream/upstream-error.ts';
import { MAX_DOCUMENT_BYTES } from '../../../authserver/upstream/protocol/transport.ts';
import { parseObject, type JsonObject, textsIn } from '../../../contract/json.ts';
import type { Outbound } from '../../../outbound/fetch.ts';
import { OutboundError, type OutboundFault } from '../../../outbound/outbound-error.ts';
import type { ServerMetadata } from 'openid-client';
import { authorizationFaultIn, endpointFaultIn, shapeFaultIn } from '../../../authserver/upstream/metadata-faults.ts';
import type { OutboundPolicy } from '../../../outbound/policy.ts';

const TIMEOUT_MS = 10_000;
/** A page of a server that does not know the URL, such as its login page. */
const NO_DOCUMENT: ReadonlySet<OutboundFault> = new Set(['redirect', 'too_large']);

/** Returns the JSON document at a URL; undefined when there is none. Rejects with `UpstreamError`. */
export async function fetchDocument(url: string, outbound: Outbound, what: string): Promise<JsonObject | undefined> {
  const reply = await outbound
    .request({
      ...{ url, method: 'GET', headers: { accept: 'application/json' }, followRedirects: true },
      ...{ maxBytes: MAX_DOCUMENT_BYTES, timeoutMs: TIMEOUT_MS },
    })
    .catch((error: unknown) => {
      if (error instanceof OutboundError && NO_DOCUMENT.has(error.kind)) return undefined;
      throw toUpstreamError(error, { what, status: undefined });
    });
  if (!reply) return undefined;
  const { status, body } = reply;
  if (status >= 500 || status === 429) throw toUpstreamError(undefined, { what, status });
  return status === 200 ? parseObject(body) : undefined;
}

/**
 * Returns the first result of `read`. If no URL has a document, rejects with the `UpstreamError` of a server that could
 * not answer.
 */
export async function firstOf<Value>(
  urls: readonly string[],
  read: (url: string) => Promise<Value | undefined>,
): Promise<Value | undefined> {
  let failure: UpstreamError | undefined;
  for (const url of urls) {
    try {
      const value = await read(url);
      if (value !== undefined) return value;
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      failure ??= error;
    }
  }
  if (failure) throw failure;
  return undefined;
}

/** Guard of the requests to one authorization server. */
export interface GuardedBy {
  readonly outbound: Outbound;
  readonly policy: OutboundPolicy;
}

/** Returns the metadata of an issuer; undefined for an issuer without metadata. Rejects with `UpstreamError`. */
export function issuerMetadata(issuer: string, guard: GuardedBy): Promise<ServerMetadata | undefined> {
  return firstOf(metadataUrls(issuer), async (url) => {
    const document = await fetchDocument(url, guard.outbound, `discovery of ${issuer}`);
    return document && checked(document, issuer, guard.policy);
  });
}

/** RFC 8414 §3.1, and OpenID Connect Discovery §4.1 in both spellings. */
function metadataUrls(issuer: string): readonly string[] {
  const url = URL.parse(issuer);
  if (!url) throw new UpstreamError('misconfigured', 'the issuer is not a URL');
  const path = url.pathname.replace(/\/$/u, '');
  const { origin } = url;
  return [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    ...(path === '' ? [] : [`${origin}${path}/.well-known/openid-configuration`]),
  ];
}

/** Endpoints of a server without metadata. @see MCP 2025-03-26, Authorization, Fallbacks for Servers without Metadata Discovery */
export const defaultEndpoints = (origin: string): ServerMetadata => ({
  issuer: origin,
  authorization_endpoint: `${origin}/authorize`,
  token_endpoint: `${origin}/token`,
  registration_endpoint: `${origin}/register`,
});

/** Throws `UpstreamError` for metadata that cannot be used. */
export function checked(document: JsonObject, issuer: string, policy: OutboundPolicy): ServerMetadata {
  const fault =
    issuerFaultIn(document, issuer) ??
    authorizationFaultIn(document, policy.allowHttp) ??
    endpointFaultIn(document, ['token_endpoint'], policy) ??
    shapeFaultIn(document);
  if (fault !== undefined) throw new UpstreamError('bad_reply', `the metadata of ${issuer} ${fault}`);
  return document as unknown as ServerMetadata;
}

/**
 * RFC 8414 §3.3: the issuer must be identical. A slash at the end is tolerated, because libraries of servers add one to
 * `authorization_servers`.
 */
function issuerFaultIn({ issuer }: JsonObject, expected: string): string | undefined {
  if (typeof issuer === 'string' && withoutSlash(issuer) === withoutSlash(expected)) return undefined;
  return 'have another issuer: set issuer to exactly that of the metadata';
}

export const withoutSlash = (url: string): string => url.replace(/\/$/u, '');

/** Protected resource metadata of a remote server. @see RFC 9728 §2 */
export interface ResourceDocument {
  readonly resource: string;
  readonly authorizationServers: readonly string[];
  readonly scopes: readonly string[];
}

const WELL_KNOWN = '/.well-known/oauth-protected-resource';
const WHAT = 'the request for the protected resource metadata';

/** Returns the metadata at the URL of the challenge, or at the well-known URLs. Rejects with `UpstreamError`. */
export async function protectedResource(
  remoteUrl: string,
  challenged: string | undefined,
  outbound: Outbound,
): Promise<ResourceDocument | undefined> {
  const document = await firstOf(challenged === undefined ? wellKnownUrls(remoteUrl) : [challenged], (url) =>
    fetchDocument(url, outbound, WHAT),
  );
  return document && resourceIn(document, remoteUrl);
}

/** RFC 9728 §3.1: the well-known path stands before the path of the resource. */
function wellKnownUrls(remoteUrl: string): readonly string[] {
  const { origin, pathname, search } = new URL(remoteUrl);
  const path = pathname === '/' ? '' : pathname;
  return [...new Set([`${origin}${WELL_KNOWN}${path}${search}`, `${origin}${WELL_KNOWN}`])];
}

/** RFC 9728 §3.3: metadata of another resource must not be used. */
function resourceIn(document: JsonObject, remoteUrl: string): ResourceDocument {
  const { resource } = document;
  if (typeof resource !== 'string' || !covers(resource, remoteUrl))
    throw new UpstreamError(
      'bad_reply',
      'the protected resource metadata belong to another resource than the remote URL',
    );
  return {
    resource,
    authorizationServers: (textsIn(document['authorization_servers']) ?? []).filter(isPlainUrl),
    scopes: textsIn(document['scopes_supported']) ?? [],
  };
}

/** Returns true when the path of the resource contains the remote URL. */
function covers(resource: string, remoteUrl: string): boolean {
  const [outer, inner] = [URL.parse(resource), new URL(remoteUrl)];
  if (outer?.origin !== inner.origin) return false;
  const path = outer.pathname.endsWith('/') ? outer.pathname : `${outer.pathname}/`;
  return `${inner.pathname}/`.startsWith(path);
}

/** Returns true for a URL that messages and logs can quote. */
export const isPlainUrl = (text: string): boolean => /^https?:\/\/[\x21-\x7E]{1,500}$/u.test(text);
