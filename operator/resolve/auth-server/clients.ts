import type { EmbeddedAuthServerConfig } from '../../../gateway/contract/run-config/auth-server.ts';
import type { Scope } from '../scope.ts';
import { AUTH_SERVER_PATH, type AuthServerSpec } from './spec.ts';

/** Resolves the rules for clients and for consent. */
export function resolveClients(server: AuthServerSpec, scope: Scope): Partial<EmbeddedAuthServerConfig> {
  const { cimd, consent, forceConfidentialRedirectUris: forced = [] } = server;
  forced.forEach((uri, index) => {
    if (URL.canParse(uri)) return;
    const path = `${AUTH_SERVER_PATH}.forceConfidentialRedirectUris[${String(index)}]`;
    scope.on(scope.vmcp).problem('InvalidUrl', path, 'not a URL: write https://HOST/PATH');
  });
  return {
    ...(server.allowConfidentialClientRegistration === true && { allow_confidential_client_registration: true }),
    ...(forced.length > 0 && { force_confidential_redirect_uris: forced }),
    ...(server.insecureAllowConfidentialOverLoopbackHTTP === true && {
      insecure_allow_confidential_over_loopback_http: true,
    }),
    ...(cimd && { cimd: resolveDocuments(cimd) }),
    ...(consent && {
      consent: {
        ...(consent.mode && { mode: consent.mode }),
        ...(consent.trustedClients && { trusted_clients: consent.trustedClients }),
      },
    }),
  };
}

function resolveDocuments(cimd: NonNullable<AuthServerSpec['cimd']>): NonNullable<EmbeddedAuthServerConfig['cimd']> {
  return {
    ...(cimd.enabled === false && { enabled: false }),
    ...(cimd.advertise !== undefined && cimd.advertise !== 'auto' && { advertise: cimd.advertise }),
    ...(cimd.documents && {
      documents: cimd.documents.map(({ clientId, clientName, redirectUris }) => ({
        ...{ client_id: clientId, client_name: clientName, redirect_uris: redirectUris },
      })),
    }),
    ...(cimd.cacheMaxSize !== undefined && { cache_max_size: cimd.cacheMaxSize }),
    ...(cimd.cacheFallbackTtl !== undefined && { cache_fallback_ttl: cimd.cacheFallbackTtl }),
    ...(cimd.allowedHosts && { allowed_hosts: cimd.allowedHosts }),
    ...(cimd.deniedHosts && { denied_hosts: cimd.deniedHosts }),
    ...(cimd.allowCrossOriginRedirects === false && { allow_cross_origin_redirects: false }),
    ...(cimd.allowLoopbackHTTP === true && { allow_loopback_http: true }),
  };
}

/** Resolves the rate limits. */
export function resolveLimits({ rateLimits: spec }: AuthServerSpec): Pick<EmbeddedAuthServerConfig, 'rate_limits'> {
  if (!spec) return {};
  const { authorizationsPerMinute, registrationsPerMinute, registrationsPerMinuteOverall } = spec;
  const { documentFetchesPerMinute, failuresPerMinute } = spec;
  return {
    rate_limits: {
      ...(authorizationsPerMinute !== undefined && { authorizations_per_minute: authorizationsPerMinute }),
      ...(registrationsPerMinute !== undefined && { registrations_per_minute: registrationsPerMinute }),
      ...(registrationsPerMinuteOverall !== undefined && {
        registrations_per_minute_overall: registrationsPerMinuteOverall,
      }),
      ...(documentFetchesPerMinute !== undefined && { document_fetches_per_minute: documentFetchesPerMinute }),
      ...(failuresPerMinute !== undefined && { failures_per_minute: failuresPerMinute }),
    },
  };
}
