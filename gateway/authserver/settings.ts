import type { MetadataRules } from './clients/metadata/client-metadata.ts';
import type { HostPolicy } from './clients/documents/client-id-url.ts';
import type { Advertise } from './clients/documents/document-reach.ts';
import type { PreloadedDocument } from './clients/documents/preloaded-documents.ts';
import type { Lifespans } from './core/lifespans.ts';
import type { ServerUrls } from './core/metadata.ts';
import type { RateLimit } from './storage/store.ts';

/** `remember` asks once in 30 days for each browser; `trusted-only` does not ask for clients that the operator trusts. */
export type ConsentMode = 'always' | 'remember' | 'trusted-only';

/** Selects the later legs of a login by a claim of the first provider. */
export interface UpstreamFilter {
  /** Claim of the first provider, a list of strings. */
  readonly claim: string;
  readonly rules: readonly { readonly groups: readonly string[]; readonly providers: readonly string[] }[];
  /** Providers when no rule matches. */
  readonly defaultProviders: readonly string[];
}

/** Confidential client that may exchange tokens of users. @see RFC 8693 */
export interface DelegateClient {
  readonly clientId: string;
  readonly secretFile: string;
  readonly audiences: readonly string[];
  readonly scopes: readonly string[];
}

/** Rules for tokens of a trusted issuer in a token exchange. */
export interface ExchangeRules {
  readonly audience: string;
  /** Ids of the delegate clients that may present the tokens; `*` means all. */
  readonly clients: readonly string[];
  readonly actors?: readonly string[] | undefined;
  /** Claim of the subject token that names the actor. */
  readonly actorClaim?: string | undefined;
  /** Matches the whole name of the actor. */
  readonly actorMatcher?: RegExp | undefined;
  readonly allowMayAct: boolean;
}

/** Rules for assertions of a trusted issuer. @see RFC 7523 */
export interface AssertionRules {
  readonly maxAgeMs: number;
  /** Accepted audiences. Absent: the issuer and the token endpoint of this server. */
  readonly audiences?: readonly string[] | undefined;
  /** Subjects, with the resources that each may request; all when absent. */
  readonly subjects: readonly { readonly subject: string; readonly resources?: readonly string[] | undefined }[];
}

/** Another issuer whose tokens this server accepts. */
export interface TrustedIssuer {
  readonly url: string;
  /** Discovered when absent. */
  readonly jwksUrl?: string | undefined;
  readonly allowPrivateIPs: boolean;
  readonly insecureAllowHTTP: boolean;
  readonly exchange?: ExchangeRules | undefined;
  readonly assertions?: AssertionRules | undefined;
}

/** Ways to tokens without a login. */
export interface DelegationSettings {
  readonly clients: readonly DelegateClient[];
  readonly issuers: readonly TrustedIssuer[];
}

/** Effective settings: `embedded_auth_server_config` with all defaults. */
export interface AuthServerSettings {
  readonly urls: ServerUrls;
  /** Absolute URL with the origin of the callback, because the cookies are bound to it. */
  readonly consentUrl: string;
  /** Default callback URL of the providers. */
  readonly callbackUrl: string;
  /** Paths of all callbacks. */
  readonly callbackPaths: readonly string[];
  /** Configured audiences of tokens. */
  readonly audiences: readonly string[];
  /** The virtual server of this configuration, with its display name. */
  readonly ownResource?: { readonly uri: string; readonly name: string } | undefined;
  readonly scopesSupported: readonly string[];
  readonly lifespans: Lifespans;
  /** Time in which a used refresh token is accepted again, in ms. 0 accepts none. */
  readonly refreshGraceMs: number;
  readonly clients: {
    readonly metadata: MetadataRules;
    /** Limit of registered clients. 0 is no limit. */
    readonly maxRegistered: number;
    /** Rules for client id metadata documents. Without them a URL is no client id. */
    readonly documents?:
      | {
          readonly hosts: HostPolicy;
          readonly allowCrossOriginRedirects: boolean;
          readonly cacheSize: number;
          /** Cache lifetime of a document that has none, in ms. */
          readonly fallbackTtlMs: number;
          /** `auto` when absent. */
          readonly advertise?: Advertise | undefined;
          /** Pauses between probes of hosts that could not be reached. */
          readonly probePausesMs?: readonly number[] | undefined;
          /** Clients whose documents are not fetched. */
          readonly preloaded?: readonly PreloadedDocument[] | undefined;
        }
      | undefined;
  };
  readonly delegation?: DelegationSettings | undefined;
  readonly consent: { readonly mode: ConsentMode; readonly trustedClients: ReadonlySet<string> };
  /** Skips later legs while an earlier login with the same client has usable tokens. */
  readonly reuseUpstreamTokens: boolean;
  /** Names of the upstream providers in the order of their legs. */
  readonly providers: readonly [string, ...string[]];
  readonly upstreamFilter?: UpstreamFilter | undefined;
  readonly limits: AuthServerLimits;
  /** CIDRs of trusted proxies, whose `X-Forwarded-For` is used. */
  readonly trustedProxies: readonly string[];
}

/**
 * Rate limits, above which requests get 429. `perAddress` limits apply to one client address if addresses are known. The overall
 * limits then apply to registrations only; without known addresses they apply to all requests.
 */
export interface AuthServerLimits {
  readonly authorizationsPerAddress: RateLimit;
  readonly authorizations: RateLimit;
  readonly registrationsPerAddress: RateLimit;
  readonly registrations: RateLimit;
  readonly documentFetchesPerAddress: RateLimit;
  readonly documentFetches: RateLimit;
  /** Failed client authentications and codes for each client and, if it is known, address. */
  readonly failuresPerClient: RateLimit;
}
