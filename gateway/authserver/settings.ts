import type { MetadataRules } from './clients/metadata/client-metadata.ts';
import type { HostPolicy } from './clients/documents/client-id-url.ts';
import type { Lifespans } from './core/lifespans.ts';
import type { ServerUrls } from './core/metadata.ts';
import type { RateLimit } from './storage/store.ts';

/** When somebody is asked. `remember`: once in 30 days and browser; `trusted-only`: not for clients the operator names. */
export type ConsentMode = 'always' | 'remember' | 'trusted-only';

/** Which providers a login visits after the first one, by a claim of the first. */
export interface UpstreamFilter {
  /** Member of the first provider's claims; its value is a list of texts. */
  readonly claim: string;
  readonly rules: readonly { readonly groups: readonly string[]; readonly providers: readonly string[] }[];
  /** Where no rule fits. */
  readonly defaultProviders: readonly string[];
}

/** `embedded_auth_server_config` with every default in its place: what the server goes by. */
export interface AuthServerSettings {
  readonly urls: ServerUrls;
  /** Absolute, and of the origin that the providers send browsers back to, as cookies are bound to it. */
  readonly consentUrl: string;
  /** Where providers that name no other send browsers back to. */
  readonly callbackUrl: string;
  /** Paths of all places that providers send browsers back to. */
  readonly callbackPaths: readonly string[];
  /** Audiences of tokens, as configured. */
  readonly audiences: readonly string[];
  /** The server in front of which this one stands, and what people call it. */
  readonly ownResource?: { readonly uri: string; readonly name: string } | undefined;
  readonly scopesSupported: readonly string[];
  readonly lifespans: Lifespans;
  /** How long a refresh token may be presented again, ms; 0: never. */
  readonly refreshGraceMs: number;
  readonly clients: {
    readonly metadata: MetadataRules;
    /** Registered clients at once; 0: no limit. */
    readonly maxRegistered: number;
    /** Absent: a URL is no client id here. */
    readonly documents?:
      | {
          readonly hosts: HostPolicy;
          readonly allowCrossOriginRedirects: boolean;
          readonly cacheSize: number;
          /** How long a document without its own lifetime is remembered, ms. */
          readonly fallbackTtlMs: number;
        }
      | undefined;
  };
  readonly consent: { readonly mode: ConsentMode; readonly trustedClients: ReadonlySet<string> };
  /** Logins after the first one are skipped while their tokens of an earlier login with the same client live. */
  readonly reuseUpstreamTokens: boolean;
  /** Names of the upstream providers in the order in which they are visited. */
  readonly providers: readonly [string, ...string[]];
  readonly upstreamFilter?: UpstreamFilter | undefined;
  readonly limits: AuthServerLimits;
  /** CIDRs of proxies whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: readonly string[];
}

/**
 * Requests that are allowed before 429. `perAddress`: of one client address, where addresses are known; the limit without it is
 * then for registrations alone, and else for everybody together.
 */
export interface AuthServerLimits {
  readonly authorizationsPerAddress: RateLimit;
  readonly authorizations: RateLimit;
  readonly registrationsPerAddress: RateLimit;
  readonly registrations: RateLimit;
  readonly documentFetchesPerAddress: RateLimit;
  readonly documentFetches: RateLimit;
  /** Failed client authentications and codes of one client and, where it is known, address. */
  readonly failuresPerClient: RateLimit;
}
