import type { GatewayConfig } from '../contract/gateway-config.ts';
import { durationMs } from '../contract/fields.ts';
import { ownCallback, sharedCallback } from '../contract/addresses.ts';
import { redirectUris } from '../contract/paths/public-paths.ts';
import type { EmbeddedAuthServerConfig } from '../contract/run-config/auth-server.ts';
import type { PreloadedDocument } from './clients/documents/preloaded-documents.ts';
import { readLifespans } from './core/lifespans.ts';
import { endpointUrl } from './core/metadata.ts';
import type { AuthServerLimits, AuthServerSettings, UpstreamFilter } from './settings.ts';
import type { RateLimit } from './storage/store.ts';
import { readDelegation } from './trust/read-delegation.ts';

/** Fallback name for a provider that has none. It is then the only provider. */
const UNNAMED = 'default';

const DEFAULT_SCOPES: readonly string[] = ['openid', 'profile', 'email', 'offline_access'];
const DEFAULT_GRACE_SECONDS = 60;
const DEFAULT_MAX_REGISTERED = 10_000;
const DEFAULT_DOCUMENTS = { cacheSize: 256, fallbackTtl: '5m' };
const DEFAULT_FILTER_CLAIM = 'groups';

const USUAL_LIMITS: AuthServerLimits = {
  authorizationsPerAddress: { capacity: 60, perSecond: 1 },
  authorizations: { capacity: 1_000, perSecond: 100 },
  registrationsPerAddress: { capacity: 10, perSecond: 5 / 60 },
  registrations: { capacity: 20, perSecond: 2 },
  documentFetchesPerAddress: { capacity: 10, perSecond: 10 / 60 },
  documentFetches: { capacity: 50, perSecond: 5 },
  failuresPerClient: { capacity: 10, perSecond: 10 / 60 },
};

/**
 * Reads the settings from a configuration for which `authServerProblems` returns nothing. Throws an Error if it has no
 * `embedded_auth_server_config`. @see docs/reference/run-config.md
 */
export function readSettings({
  name,
  embedded_auth_server_config: config,
  oidc_config,
  vmcp,
}: GatewayConfig): AuthServerSettings {
  if (!config) throw new Error('embedded_auth_server_config is missing');
  const [first, ...others] = providerNames(config);
  if (first === undefined) throw new Error('embedded_auth_server_config.upstreams is empty');
  const { refresh_grace_seconds: grace = DEFAULT_GRACE_SECONDS, consent, reuse_upstream_tokens: reuse } = config;
  return {
    ...addresses(config),
    audiences: allowedAudiences(config, oidc_config),
    ownResource:
      name !== undefined && oidc_config?.audience !== undefined ? { uri: oidc_config.audience, name } : undefined,
    scopesSupported: supportedScopes(config),
    lifespans: readLifespans(config.token_lifespans).lifespans,
    refreshGraceMs: grace * 1000,
    clients: clientsOf(config),
    delegation: readDelegation(config),
    consent: { mode: consent?.mode ?? 'remember', trustedClients: new Set(consent?.trusted_clients) },
    reuseUpstreamTokens: reuse ?? true,
    providers: [first, ...others],
    upstreamFilter: filterOf(config.upstream_filter),
    limits: limitsOf(config.rate_limits),
    trustedProxies: vmcp.incoming.trusted_proxies ?? [],
  };
}

/** Returns the provider names in the configured order. */
export const providerNames = ({ upstreams = [] }: EmbeddedAuthServerConfig): string[] =>
  upstreams.map(({ name }) => name ?? UNNAMED);

/** Returns a text for each provider, by its name, that differs when the name stands for other users. */
export const providerIdentities = (config: EmbeddedAuthServerConfig): Readonly<Record<string, string>> => {
  const names = providerNames(config);
  return Object.fromEntries(
    (config.upstreams ?? []).map(({ oidc_config: oidc, oauth2_config: oauth2 }, index) => [
      names[index] ?? UNNAMED,
      JSON.stringify([
        [oidc?.issuer_url, oidc?.subject_claim, oidc?.userinfo_override],
        [oauth2?.token_endpoint, oauth2?.identity_from_token, oauth2?.userinfo],
      ]),
    ]),
  );
};

/** Returns the allowed values of `resource`, without repetitions. The default is the virtual server of this configuration. */
export function allowedAudiences(
  { allowed_audiences: audiences = [] }: EmbeddedAuthServerConfig,
  oidc: GatewayConfig['oidc_config'],
): readonly string[] {
  if (audiences.length > 0) return [...new Set(audiences)];
  const own = oidc?.resourceURL ?? oidc?.audience;
  return own === undefined ? [] : [own];
}

export const supportedScopes = ({ scopes_supported: scopes }: EmbeddedAuthServerConfig): readonly string[] =>
  scopes ?? DEFAULT_SCOPES;

/** Returns the URLs of the server. The consent page has the origin of the callback, because its cookies must be sent there. */
function addresses(
  config: EmbeddedAuthServerConfig,
): Pick<AuthServerSettings, 'urls' | 'consentUrl' | 'callbackUrl' | 'callbackPaths'> {
  const { issuer = '', authorization_endpoint_base_url: base } = config;
  const urls = { issuer, ...(base !== undefined && { authorizationEndpointBaseUrl: base }) };
  const callbackUrl = sharedCallback(issuer);
  const configured = redirectUris(config).filter((uri) => uri !== undefined);
  const [returned = callbackUrl] = configured;
  const atBase = base !== undefined && originOf(returned) !== originOf(issuer);
  return {
    urls,
    callbackUrl,
    callbackPaths: [
      ...new Set([callbackUrl, ...configured, ...ownCallbacks(config)].map((uri) => new URL(uri).pathname)),
    ],
    consentUrl: endpointUrl('consent', { issuer: atBase ? base : issuer }),
  };
}

/** Returns the callback paths of the providers that need their own, because they do not return `iss`. */
function ownCallbacks(config: EmbeddedAuthServerConfig): string[] {
  const uris = redirectUris(config);
  const later = providerNames(config).filter((_name, index) => index > 0 && uris[index] === undefined);
  return later.map((name) => ownCallback(config.issuer ?? '', name));
}

const originOf = (url: string): string | undefined => URL.parse(url)?.origin;

function clientsOf(config: EmbeddedAuthServerConfig): AuthServerSettings['clients'] {
  const { cimd = {} } = config;
  const scopes = supportedScopes(config);
  return {
    metadata: {
      scopesSupported: scopes,
      defaultScopes: scopes,
      baselineScopes: config.baseline_client_scopes ?? [],
      allowConfidential: config.allow_confidential_client_registration === true,
      forceConfidentialRedirectUris: config.force_confidential_redirect_uris ?? [],
      privateAddresses: config.insecure_allow_http === true,
    },
    maxRegistered: config.storage?.max_dcr_clients ?? DEFAULT_MAX_REGISTERED,
    documents: cimd.enabled === false ? undefined : documentsOf(cimd),
  };
}

function documentsOf(
  cimd: NonNullable<EmbeddedAuthServerConfig['cimd']>,
): NonNullable<AuthServerSettings['clients']['documents']> {
  return {
    hosts: {
      allowedHosts: cimd.allowed_hosts ?? [],
      deniedHosts: cimd.denied_hosts ?? [],
      allowLoopbackHttp: cimd.allow_loopback_http === true,
    },
    allowCrossOriginRedirects: cimd.allow_cross_origin_redirects ?? true,
    cacheSize: cimd.cache_max_size ?? DEFAULT_DOCUMENTS.cacheSize,
    fallbackTtlMs: durationMs(cimd.cache_fallback_ttl ?? DEFAULT_DOCUMENTS.fallbackTtl),
    ...(cimd.advertise !== undefined && { advertise: cimd.advertise }),
    ...(cimd.documents && { preloaded: preloadedOf(cimd) }),
  };
}

export const preloadedOf = ({
  documents = [],
}: NonNullable<EmbeddedAuthServerConfig['cimd']>): readonly PreloadedDocument[] =>
  documents.map(({ client_id: clientId = '', client_name: clientName = '', redirect_uris: redirectUris = [] }) => ({
    ...{ clientId, clientName, redirectUris },
  }));

function filterOf(filter: EmbeddedAuthServerConfig['upstream_filter']): UpstreamFilter | undefined {
  return (
    filter && {
      claim: filter.claim ?? DEFAULT_FILTER_CLAIM,
      rules: (filter.rules ?? []).map(({ groups = [], upstream_providers: providers = [] }) => ({ groups, providers })),
      defaultProviders: filter.default_upstreams ?? [],
    }
  );
}

/** Scales the burst with the rate per minute. */
function limitsOf(configured: EmbeddedAuthServerConfig['rate_limits'] = {}): AuthServerLimits {
  const limit = (usual: RateLimit, perMinute: number | undefined): RateLimit => {
    if (perMinute === undefined) return usual;
    const perSecond = perMinute / 60;
    return { capacity: Math.max(1, Math.round((usual.capacity * perSecond) / usual.perSecond)), perSecond };
  };
  return {
    authorizationsPerAddress: limit(USUAL_LIMITS.authorizationsPerAddress, configured.authorizations_per_minute),
    authorizations: USUAL_LIMITS.authorizations,
    registrationsPerAddress: limit(USUAL_LIMITS.registrationsPerAddress, configured.registrations_per_minute),
    registrations: limit(USUAL_LIMITS.registrations, configured.registrations_per_minute_overall),
    documentFetchesPerAddress: limit(USUAL_LIMITS.documentFetchesPerAddress, configured.document_fetches_per_minute),
    documentFetches: USUAL_LIMITS.documentFetches,
    failuresPerClient: limit(USUAL_LIMITS.failuresPerClient, configured.failures_per_minute),
  };
}
