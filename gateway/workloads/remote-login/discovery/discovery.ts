import type { ServerMetadata } from 'openid-client';
import type { Guards } from '../../../authserver/upstream/protocol/guards.ts';
import { UpstreamError } from '../../../authserver/upstream/upstream-error.ts';
import type { Logger } from '../../../contract/logger.ts';
import type { Outbound, OutboundReply } from '../../../outbound/fetch.ts';
import { policyFor, type OutboundFlags } from '../../../outbound/policy.ts';
import { reasonOf } from '../remote-login-error.ts';
import { given, type RemoteAuthConfig } from '../stored-record.ts';
import {
  checked,
  defaultEndpoints,
  issuerMetadata,
  withoutSlash,
  type GuardedBy,
  isPlainUrl,
  protectedResource,
  type ResourceDocument,
} from './document.ts';
import { challengeParameters } from '../../../http/challenge-parameters.ts';

/** Parameters of the `WWW-Authenticate` header of a remote server. @see RFC 9728 §5.1, RFC 6750 §3 */
export interface RemoteChallenge {
  readonly resourceMetadata?: string | undefined;
  /** Scopes separated by spaces. */
  readonly scope?: string | undefined;
  readonly realm?: string | undefined;
}

const TIMEOUT_MS = 10_000;
const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'vmcp', version: '1' } },
});

/**
 * Sends a request without a credential. Returns the challenge of a server that requires a login, otherwise undefined.
 * Rejects with `OutboundError`.
 */
export async function probe(url: string, outbound: Outbound): Promise<RemoteChallenge | undefined> {
  const common = { url, maxBytes: 0, timeoutMs: TIMEOUT_MS, ignoreBody: true };
  const accept = 'application/json, text/event-stream';
  const headers = { accept, 'content-type': 'application/json' };
  const reply = await outbound.request({ ...common, method: 'POST', headers, body: INITIALIZE });
  // The HTTP+SSE transport (MCP 2024-11-05) has no POST at this URL.
  const isSse = reply.status === 404 || reply.status === 405;
  return challengeIn(isSse ? await outbound.request({ ...common, method: 'GET', headers: { accept } }) : reply);
}

function challengeIn({ status, headers }: OutboundReply): RemoteChallenge | undefined {
  if (status !== 401) return undefined;
  const parameters = challengeParameters(headers['www-authenticate'] ?? '');
  return {
    resourceMetadata: parameters.get('resource_metadata'),
    scope: parameters.get('scope'),
    realm: parameters.get('realm'),
  };
}

/** Authorization server of a remote server, and what to request there. */
export interface Discovered {
  readonly metadata: ServerMetadata;
  /** RFC 8707 resource; undefined when the configuration omits it. */
  readonly resource: string | undefined;
  readonly scopes: readonly string[];
}

export interface DiscoveryOptions extends OutboundFlags {
  readonly remoteUrl: string;
  readonly config: RemoteAuthConfig;
  readonly guards: Guards;
  readonly log: Pick<Logger, 'debug'>;
}

const MAX_SERVERS = 3;

/** Finds the authorization server of one remote server. Methods reject with `UpstreamError`. */
export class Discovery {
  readonly #options: DiscoveryOptions;

  constructor(options: DiscoveryOptions) {
    this.#options = options;
  }

  /** Guard of requests to the remote server. */
  get remote(): Outbound {
    return this.#options.guards.of(this.#options.remoteUrl);
  }

  /** Guard of requests to the authorization server: addresses in documents never widen what the configured URL allows. */
  get outbound(): Outbound {
    return this.#guard.outbound;
  }

  /** Issuer that the configuration names; undefined when it is discovered. */
  get configuredIssuer(): string | undefined {
    const { issuer, token_url } = this.#options.config;
    return given(issuer) ?? (this.#hasOwnEndpoints ? URL.parse(token_url ?? '')?.origin : undefined);
  }

  async find(challenge: RemoteChallenge | undefined): Promise<Discovered> {
    const protectedBy = await this.#protectedResource(challenge);
    const metadata = this.#withOwnEndpoints(await this.#metadata(challenge, protectedBy));
    return {
      metadata,
      resource: this.#resource(protectedBy),
      scopes: this.#scopes(metadata, challenge?.scope?.split(' ').filter(Boolean) ?? protectedBy?.scopes ?? []),
    };
  }

  /** Returns the metadata of the issuer of a stored login. */
  async at(issuer: string): Promise<ServerMetadata> {
    if (this.#hasOwnEndpoints) return this.#configured(issuer);
    const metadata = await issuerMetadata(issuer, this.#guard);
    return this.#withOwnEndpoints(metadata ?? defaultEndpoints(new URL(issuer).origin));
  }

  get #guard(): GuardedBy {
    const { remoteUrl, config, guards } = this.#options;
    const named = given(config.issuer) ?? given(config.token_url) ?? remoteUrl;
    return { outbound: guards.of(named), policy: policyFor(named, this.#options) };
  }

  get #hasOwnEndpoints(): boolean {
    const { authorize_url, token_url } = this.#options.config;
    return given(authorize_url) !== undefined && given(token_url) !== undefined;
  }

  /** Metadata that the remote server does not need to have are optional when the configuration names the server. */
  async #protectedResource(challenge: RemoteChallenge | undefined): Promise<ResourceDocument | undefined> {
    const { remoteUrl, config, log } = this.#options;
    try {
      return await protectedResource(remoteUrl, challenge?.resourceMetadata, this.remote);
    } catch (error) {
      if (given(config.issuer) === undefined && !this.#hasOwnEndpoints) throw error;
      log.debug('the protected resource metadata are not used', { cause: reasonOf(error) });
      return undefined;
    }
  }

  async #metadata(challenge: RemoteChallenge | undefined, found: ResourceDocument | undefined) {
    const { remoteUrl, config } = this.#options;
    const { origin } = new URL(remoteUrl);
    if (this.#hasOwnEndpoints) return this.#configured(this.configuredIssuer ?? '');
    const own = given(config.issuer);
    if (own !== undefined) return (await issuerMetadata(own, this.#guard)) ?? none(own);
    const listed = found?.authorizationServers.slice(0, MAX_SERVERS) ?? [];
    for (const issuer of listed) {
      const metadata = await issuerMetadata(issuer, this.#guard);
      if (metadata) return metadata;
    }
    if (listed.length > 0) return none(listed.join(', '));
    const realm = challenge?.realm;
    const byRealm = realm !== undefined && isPlainUrl(realm) ? await this.#ofRealm(realm) : undefined;
    return byRealm ?? (await issuerMetadata(origin, this.#guard)) ?? defaultEndpoints(origin);
  }

  /** A realm that is a URL names the issuer at some servers, and something else at others. */
  async #ofRealm(realm: string): Promise<ServerMetadata | undefined> {
    return issuerMetadata(realm, this.#guard).catch((error: unknown) => {
      if (error instanceof UpstreamError) return undefined;
      throw error;
    });
  }

  #configured(issuer: string): ServerMetadata {
    const { authorize_url: authorization_endpoint, token_url: token_endpoint } = this.#options.config;
    return checked({ issuer, authorization_endpoint, token_endpoint }, issuer, this.#guard.policy);
  }

  #withOwnEndpoints(metadata: ServerMetadata): ServerMetadata {
    const { authorize_url, token_url } = this.#options.config;
    const own = {
      ...(given(authorize_url) !== undefined && { authorization_endpoint: authorize_url }),
      ...(given(token_url) !== undefined && { token_endpoint: token_url }),
    };
    return checked({ ...metadata, ...own }, metadata.issuer, this.#guard.policy);
  }

  #resource(found: ResourceDocument | undefined): string | undefined {
    const { remoteUrl, config } = this.#options;
    if (config.resource !== undefined) return given(config.resource);
    const { origin, pathname } = new URL(remoteUrl);
    return found?.resource ?? (pathname === '/' ? origin : `${origin}${pathname}`);
  }

  /** Requests a refresh token where the server lists the scope for it. @see OpenID Connect Core §11 */
  #scopes({ scopes_supported: supported = [] }: ServerMetadata, needed: readonly string[]): readonly string[] {
    const { scopes = [] } = this.#options.config;
    if (scopes.length > 0) return scopes;
    if (needed.includes('offline_access') || !supported.includes('offline_access')) return needed;
    const openid = supported.includes('openid') && !needed.includes('openid') ? ['openid'] : [];
    return [...openid, ...needed, 'offline_access'];
  }
}

/** Returns true when both URLs name the same issuer. */
export const isSameIssuer = (one: string, other: string): boolean => withoutSlash(one) === withoutSlash(other);

function none(issuer: string): never {
  throw new UpstreamError(
    'misconfigured',
    `${issuer} has no metadata of an authorization server: set issuer, or authorize_url and token_url`,
  );
}
