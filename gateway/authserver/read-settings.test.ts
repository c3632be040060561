import { describe, expect, it } from 'vitest';
import { readSettings } from './read-settings.ts';
import { given } from './testdata/given-config.ts';

describe('settings of the authorization server', () => {
  it('have their defaults', () => {
    const scopes = ['openid', 'profile', 'email', 'offline_access'];
    expect(readSettings(given())).toEqual({
      urls: { issuer: 'https://desk.example' },
      consentUrl: 'https://desk.example/oauth/consent',
      callbackUrl: 'https://desk.example/oauth/callback',
      callbackPaths: ['/oauth/callback'],
      audiences: ['https://desk.example/mcp'],
      ownResource: { uri: 'https://desk.example/mcp', name: 'desk' },
      scopesSupported: scopes,
      lifespans: { accessToken: 3600, refreshToken: 604_800, code: 60 },
      refreshGraceMs: 60_000,
      clients: {
        metadata: {
          scopesSupported: scopes,
          defaultScopes: scopes,
          baselineScopes: [],
          allowConfidential: false,
          forceConfidentialRedirectUris: [],
          privateAddresses: false,
        },
        maxRegistered: 10_000,
        documents: {
          hosts: { allowedHosts: [], deniedHosts: [], allowLoopbackHttp: false },
          allowCrossOriginRedirects: true,
          cacheSize: 256,
          fallbackTtlMs: 300_000,
        },
      },
      consent: { mode: 'remember', trustedClients: new Set() },
      reuseUpstreamTokens: true,
      providers: ['corp'],
      upstreamFilter: undefined,
      limits: {
        authorizationsPerAddress: { capacity: 60, perSecond: 1 },
        authorizations: { capacity: 1_000, perSecond: 100 },
        registrationsPerAddress: { capacity: 10, perSecond: 5 / 60 },
        registrations: { capacity: 20, perSecond: 2 },
        documentFetchesPerAddress: { capacity: 10, perSecond: 10 / 60 },
        documentFetches: { capacity: 50, perSecond: 5 },
        failuresPerClient: { capacity: 10, perSecond: 10 / 60 },
      },
      trustedProxies: [],
    });
  });

  it('contain the configured values', () => {
    const settings = readSettings(
      given({
        issuer: 'https://desk.example/tenant',
        allowed_audiences: ['https://desk.example/a', 'https://desk.example/b', 'https://desk.example/a'],
        scopes_supported: ['openid', 'mcp'],
        baseline_client_scopes: ['mcp'],
        allow_confidential_client_registration: true,
        force_confidential_redirect_uris: ['https://app.example/cb'],
        insecure_allow_http: true,
        token_lifespans: { access_token_lifespan: '5m', refresh_token_lifespan: '24h', auth_code_lifespan: '2m' },
        refresh_grace_seconds: 0,
        storage: { type: 'memory', max_dcr_clients: 0 },
        consent: { mode: 'trusted-only', trusted_clients: ['vrc_1'] },
        reuse_upstream_tokens: false,
        upstream_filter: { rules: [{ groups: ['dev'], upstream_providers: ['git'] }] },
        cimd: {
          cache_max_size: 7,
          cache_fallback_ttl: '1m',
          denied_hosts: ['evil.example'],
          allow_loopback_http: true,
        },
      }),
    );
    expect(settings).toMatchObject({
      callbackUrl: 'https://desk.example/tenant/oauth/callback',
      consentUrl: 'https://desk.example/tenant/oauth/consent',
      audiences: ['https://desk.example/a', 'https://desk.example/b'],
      lifespans: { accessToken: 300, refreshToken: 86_400, code: 120 },
      refreshGraceMs: 0,
      consent: { mode: 'trusted-only', trustedClients: new Set(['vrc_1']) },
      reuseUpstreamTokens: false,
      upstreamFilter: { claim: 'groups', rules: [{ groups: ['dev'], providers: ['git'] }], defaultProviders: [] },
    });
    expect(settings.clients).toMatchObject({
      maxRegistered: 0,
      metadata: { defaultScopes: ['openid', 'mcp'], baselineScopes: ['mcp'], allowConfidential: true },
      documents: {
        cacheSize: 7,
        fallbackTtlMs: 60_000,
        hosts: { deniedHosts: ['evil.example'], allowLoopbackHttp: true },
      },
    });
    expect(settings.clients.metadata.privateAddresses).toBe(true);
  });

  it('place the consent page at the origin of the callback', () => {
    const base = 'https://login.example/desk';
    const provider = (redirect_uri?: string) => [
      { oidc_config: { issuer_url: 'https://idp.example', ...(redirect_uri !== undefined && { redirect_uri }) } },
    ];
    const consentUrl = (redirectUri?: string) =>
      readSettings(given({ authorization_endpoint_base_url: base, upstreams: provider(redirectUri) })).consentUrl;
    expect(consentUrl()).toBe('https://desk.example/oauth/consent');
    expect(consentUrl('https://desk.example/oauth/callback')).toBe('https://desk.example/oauth/consent');
    expect(consentUrl('https://login.example/desk/oauth/callback')).toBe('https://login.example/desk/oauth/consent');
  });

  it('name a provider without a name "default"', () => {
    expect(readSettings(given({ upstreams: [{ type: 'oidc' }] })).providers).toEqual(['default']);
  });

  it('allow no client id metadata documents when they are turned off', () => {
    expect(readSettings(given({ cimd: { enabled: false } })).clients.documents).toBeUndefined();
  });

  it('scale the burst with the rate', () => {
    const rate_limits = { registrations_per_minute: 1, registrations_per_minute_overall: 60_000 };
    const { limits } = readSettings(given({ rate_limits }));
    expect(limits.registrationsPerAddress).toEqual({ capacity: 2, perSecond: 1 / 60 });
    expect(limits.registrations).toEqual({ capacity: 10_000, perSecond: 1_000 });
    expect(limits.authorizationsPerAddress).toEqual({ capacity: 60, perSecond: 1 });
  });

  it('use the public URL as audience, else the audience of the incoming boundary', () => {
    const audiences = (oidc_config: object) => readSettings({ ...given(), oidc_config }).audiences;
    expect(audiences({ audience: 'https://desk.example/a' })).toEqual(['https://desk.example/a']);
    expect(audiences({ audience: 'https://desk.example/a', resourceURL: 'https://desk.example/b' })).toEqual([
      'https://desk.example/b',
    ]);
  });
});
