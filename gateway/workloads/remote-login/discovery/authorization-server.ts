import type { ServerMetadata } from 'openid-client';
import { authorizationFaultIn, endpointFaultIn, shapeFaultIn } from '../../../authserver/upstream/metadata-faults.ts';
import { UpstreamError } from '../../../authserver/upstream/upstream-error.ts';
import type { JsonObject } from '../../../contract/json.ts';
import type { Outbound } from '../../../outbound/fetch.ts';
import type { OutboundPolicy } from '../../../outbound/policy.ts';
import { fetchDocument, firstOf } from './document.ts';

/** Guard of the requests to one authorization server. */
export interface GuardedBy {
  readonly outbound: Outbound;
  readonly policy: OutboundPolicy;
}

/** Returns the metadata of an issuer; undefined when it has none. Rejects with `UpstreamError`. */
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
