import { Type } from 'typebox';
import {
  BASE_URL_PATTERN,
  Closed,
  durationMs,
  HOST_PATTERN,
  HttpUrl,
  SCOPE_PATTERN,
} from '../../gateway/contract/fields.ts';
import { ATOMIC, block, duration, flag, texts, whole } from '../../gateway/contract/optional.ts';
import { SecretKeyRef } from '../../gateway/contract/references.ts';
import { at, rule, safeUrl, type Rule } from '../../gateway/contract/rule.ts';
import { delegateClients, trustedIssuerRules, trustedIssuers } from './auth-server-trust.ts';
import { upstreamProviders, upstreamRules } from './auth-server-upstreams.ts';
import { storage, storageRules } from './auth-server-storage.ts';
import { between, minimum } from '../../gateway/contract/duration-rules.ts';
import { providerName } from './provider-name.ts';

const BASE_URL = { pattern: BASE_URL_PATTERN, maxLength: 2048 };

const keys = (description: string) =>
  Type.Optional(Type.Array(SecretKeyRef('One key.'), { maxItems: 5, description, ...ATOMIC }));

const identity = {
  issuer: HttpUrl('Issuer of the tokens; every endpoint derives from it.', BASE_URL),
  authorizationEndpointBaseUrl: Type.Optional(
    HttpUrl('Replaces the issuer in `authorization_endpoint` of the discovery document.', BASE_URL),
  ),
  signingKeySecretRefs: keys(
    'PEM keys: the first signs, the others verify. New keys at every start when absent; keep some for production.',
  ),
  hmacSecretRefs: keys(
    'Secrets of codes and refresh tokens, the current one first. New ones at every start when absent.',
  ),
  tokenLifespans: block('How long what is issued lives.', {
    accessTokenLifespan: duration('Access token, 1m to 24h; 1h when absent.', { maxLength: 64 }),
    refreshTokenLifespan: duration('Refresh token, 1h to 720h; 168h when absent.', { maxLength: 64 }),
    authCodeLifespan: duration('Authorization code, 30s to 10m; 60s when absent.', { maxLength: 64 }),
  }),
  refreshGraceSeconds: whole('How long a refresh token gets the same answer again; 60 when absent, 0 for never.', {
    minimum: 0,
    maximum: 300,
    format: 'int32',
  }),
  allowEphemeralKeys: flag('Let keys that only one process has go with replicas and with a store that outlives it.', {
    default: false,
  }),
  upstreamProviders,
  reuseUpstreamTokens: flag('Skip later providers whose tokens of an earlier login with the same client live.', {
    default: true,
  }),
  storage,
  primaryUpstreamProvider: providerName('Provider whose claims policies see; the first when absent.'),
};

const hosts = (description: string) =>
  texts(description, { maxItems: 64, ...ATOMIC }, { pattern: HOST_PATTERN, maxLength: 253 });

const perMinute = (description: string) => whole(description, { minimum: 1, maximum: 1_000_000, format: 'int32' });

const limits = {
  rateLimits: block('What may be asked in a minute, before 429.', {
    authorizationsPerMinute: perMinute('Of one address; 60 when absent.'),
    registrationsPerMinute: perMinute('Of one address; 5 when absent.'),
    registrationsPerMinuteOverall: perMinute('Of all addresses; 120 when absent.'),
    documentFetchesPerMinute: perMinute('Metadata documents for one address; 10 when absent.'),
    failuresPerMinute: perMinute('Wrong secrets and codes of one client and address; 10 when absent.'),
  }),
};

const clients = {
  baselineClientScopes: texts(
    'Scopes that every registered client gets.',
    { maxItems: 10, ...ATOMIC },
    { pattern: SCOPE_PATTERN, minLength: 1, maxLength: 256 },
  ),
  allowConfidentialClientRegistration: flag('Registration may issue client secrets.', { default: false }),
  forceConfidentialRedirectUris: texts(
    'Redirect URIs that must register as confidential.',
    { maxItems: 10, ...ATOMIC },
    { pattern: '^https://[^\\s?#]+$', maxLength: 2048 },
  ),
  cimd: block('Clients that are identified by a metadata document.', {
    enabled: flag('Accept them.', { default: true }),
    cacheMaxSize: whole('Most documents that are remembered.', {
      minimum: 1,
      maximum: 2147483647,
      format: 'int32',
    }),
    cacheFallbackTtl: duration('How long a document without its own lifetime is remembered.', { maxLength: 64 }),
    allowedHosts: hosts('Hosts of documents, or `*.` and a domain for all below it; all when absent.'),
    deniedHosts: hosts('Hosts of documents that are refused.'),
    allowCrossOriginRedirects: flag('Let a document name redirect URIs of other sites.', { default: true }),
    allowLoopbackHTTP: flag('Let documents stand on loopback hosts, over http. Development only.', { default: false }),
  }),
  consent: block('When users are asked whether a client may act for them.', {
    mode: Type.Optional(
      Type.Enum(['always', 'remember', 'trusted-only'], {
        default: 'remember',
        description:
          '`always`; `remember`: once in 30 days and browser; `trusted-only`: as `remember`, but not for `trustedClients`.',
      }),
    ),
    trustedClients: texts(
      'Client identifiers that the operator vouches for.',
      { maxItems: 64, ...ATOMIC },
      { minLength: 1, maxLength: 2048 },
    ),
  }),
  delegateClients,
  trustedIssuers,
};

/** `authServerConfig`: the authorization server that runs inside the gateway. */
export const authServerConfig = () =>
  Type.Optional(
    Closed(
      {
        ...identity,
        ...clients,
        ...limits,
        disableUpstreamTokenInjection: flag('Do not attach upstream tokens to identities.', { default: false }),
        insecureAllowHTTP: flag('Allow an http issuer on a host that is not loopback.', { default: false }),
        insecureAllowConfidentialOverLoopbackHTTP: flag('Allow client secrets over http on loopback.', {
          default: false,
        }),
      },
      { description: 'The authorization server that runs inside the gateway.' },
    ),
  );

interface AuthServer {
  readonly issuer: string;
  readonly insecureAllowHTTP?: boolean;
  readonly allowConfidentialClientRegistration?: boolean;
  readonly insecureAllowConfidentialOverLoopbackHTTP?: boolean;
  readonly forceConfidentialRedirectUris?: readonly string[];
  readonly delegateClients?: readonly unknown[];
  readonly primaryUpstreamProvider?: string;
  readonly upstreamProviders: readonly { readonly name: string }[];
}

interface Lifespans {
  readonly accessTokenLifespan?: string;
  readonly refreshTokenLifespan?: string;
}

const USUAL = { access: '1h', refresh: '168h' };
const lifespanCel = (member: string, usual: string): string =>
  `(has(self.${member}) ? duration(self.${member}) : duration('${usual}'))`;

const outlives = rule<Lifespans>('tokenLifespans', {
  field: 'refreshTokenLifespan',
  rule: `${lifespanCel('refreshTokenLifespan', USUAL.refresh)} > ${lifespanCel('accessTokenLifespan', USUAL.access)}`,
  message: 'refresh tokens must outlive access tokens',
  check: ({ accessTokenLifespan = USUAL.access, refreshTokenLifespan = USUAL.refresh }) =>
    durationMs(refreshTokenLifespan) > durationMs(accessTokenLifespan),
});

const clientRules: Rule[] = [
  rule<AuthServer>('', {
    field: 'allowConfidentialClientRegistration',
    rule: "!self.allowConfidentialClientRegistration || self.issuer.startsWith('https://') || (self.insecureAllowConfidentialOverLoopbackHTTP && !self.insecureAllowHTTP)",
    message: 'client secrets need an https issuer',
    check: (self) =>
      self.allowConfidentialClientRegistration !== true ||
      self.issuer.startsWith('https://') ||
      (self.insecureAllowConfidentialOverLoopbackHTTP === true && self.insecureAllowHTTP !== true),
  }),
  rule<AuthServer>('', {
    field: 'forceConfidentialRedirectUris',
    rule: '!has(self.forceConfidentialRedirectUris) || size(self.forceConfidentialRedirectUris) == 0 || self.allowConfidentialClientRegistration',
    message: 'forceConfidentialRedirectUris needs allowConfidentialClientRegistration',
    check: (self) =>
      (self.forceConfidentialRedirectUris ?? []).length === 0 || self.allowConfidentialClientRegistration === true,
  }),
  rule<AuthServer>('', {
    field: 'delegateClients',
    rule: "!has(self.delegateClients) || size(self.delegateClients) == 0 || self.issuer.startsWith('https://')",
    message: 'delegateClients need an https issuer',
    check: (self) => (self.delegateClients ?? []).length === 0 || self.issuer.startsWith('https://'),
  }),
  rule<AuthServer>('', {
    field: 'primaryUpstreamProvider',
    rule: '!has(self.primaryUpstreamProvider) || self.upstreamProviders.exists(p, p.name == self.primaryUpstreamProvider)',
    message: 'primaryUpstreamProvider must be the name of an upstream provider',
    check: (self) =>
      self.primaryUpstreamProvider === undefined ||
      self.upstreamProviders.some(({ name }) => name === self.primaryUpstreamProvider),
  }),
];

export const authServerRules = (path: string): Rule[] =>
  at(path, [
    safeUrl('', 'issuer'),
    safeUrl('', 'authorizationEndpointBaseUrl'),
    between('tokenLifespans', 'accessTokenLifespan', '1m', '24h'),
    between('tokenLifespans', 'refreshTokenLifespan', '1h', '720h'),
    between('tokenLifespans', 'authCodeLifespan', '30s', '10m'),
    outlives,
    ...clientRules,
    ...at('storage', storageRules),
    ...at('upstreamProviders[]', upstreamRules),
    ...at('trustedIssuers[]', trustedIssuerRules),
    minimum('trustedIssuers[].jwtBearerGrant', 'maxAssertionAge', '1s'),
    minimum('cimd', 'cacheFallbackTtl', '1s'),
  ]);
