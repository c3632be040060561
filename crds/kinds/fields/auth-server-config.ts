import { Type } from 'typebox';
import {
  BASE_URL_PATTERN,
  Closed,
  DnsLabel,
  durationMs,
  HOST_PATTERN,
  HttpUrl,
  SCOPE_PATTERN,
} from '../../../gateway/contract/fields.ts';
import { ATOMIC, block, blocks, duration, flag, mapBy, texts, whole } from '../../../gateway/contract/optional.ts';
import { SecretKeyRef } from '../../../gateway/contract/references.ts';
import { at, rule, safeUrl, union, type Rule } from '../../../gateway/contract/rule.ts';
import { delegateClients, trustedIssuerRules, trustedIssuers, providerName } from './auth-server-trust.ts';
import { UPSTREAMS } from '../../../gateway/authserver/upstream/index.ts';
import { storage, storageRules } from './stores.ts';
import { between, minimum } from '../../../gateway/contract/duration.ts';

const [oauth2, oidc] = UPSTREAMS;

/** Identity providers, in the order of the login. */
export const upstreamProviders = Type.Array(
  Closed({
    name: DnsLabel('Name that `providerName` and `subjectProviderName` refer to.'),
    type: Type.Enum(
      UPSTREAMS.map(({ type }) => type),
      { description: 'Type of the provider. Set `oauth2Config` or `oidcConfig` accordingly.' },
    ),
    oauth2Config: Type.Optional(oauth2.spec),
    oidcConfig: Type.Optional(oidc.spec),
  }),
  {
    minItems: 1,
    maxItems: 8,
    description: 'Identity providers, in the order of the login.',
    ...mapBy('name'),
  },
);

const BASE_URL = { pattern: BASE_URL_PATTERN, maxLength: 2048 };

const keys = (description: string) =>
  Type.Optional(Type.Array(SecretKeyRef('Key in a Secret.'), { maxItems: 5, description, ...ATOMIC }));

const identity = {
  issuer: HttpUrl('Issuer of the tokens. The URLs of all endpoints start with it.', BASE_URL),
  authorizationEndpointBaseUrl: Type.Optional(
    HttpUrl('Replaces the issuer in `authorization_endpoint` of the discovery document.', BASE_URL),
  ),
  signingKeySecretRefs: keys(
    'PEM keys: the first one signs, the others only verify. When absent, keys are generated at every start; set keys in production.',
  ),
  hmacSecretRefs: keys(
    'Secrets for codes and refresh tokens, the current one first. When absent, secrets are generated at every start.',
  ),
  tokenLifespans: block('Lifetimes of tokens and codes.', {
    accessTokenLifespan: duration('Lifetime of access tokens, 1m to 24h. Defaults to 1h.', { maxLength: 64 }),
    refreshTokenLifespan: duration('Lifetime of refresh tokens, 1h to 720h. Defaults to 168h.', { maxLength: 64 }),
    authCodeLifespan: duration('Lifetime of authorization codes, 30s to 10m. Defaults to 60s.', { maxLength: 64 }),
  }),
  refreshGraceSeconds: whole(
    'Seconds in which a used refresh token returns the same response again. Defaults to 60; 0 turns this off.',
    {
      minimum: 0,
      maximum: 300,
      format: 'int32',
    },
  ),
  allowEphemeralKeys: flag('Allow keys generated at start together with several replicas or with a persistent store.', {
    default: false,
  }),
  upstreamProviders,
  reuseUpstreamTokens: flag(
    'Skip a later provider if its tokens from an earlier login with the same client are still valid.',
    {
      default: true,
    },
  ),
  storage,
  primaryUpstreamProvider: providerName(
    'Provider whose access token, a JWT, gives the claims and groups that Cedar policies read. When absent, they read those of the token of the gateway.',
  ),
};

const hosts = (description: string) =>
  texts(description, { maxItems: 64, ...ATOMIC }, { pattern: HOST_PATTERN, maxLength: 253 });

/** https without `*`, or http to a loopback host, where the path may have some. */
const REDIRECT_PATTERN =
  '^(https://[^*#\\s]+|http://(localhost|127([.][0-9]{1,3}){3}|\\[::1\\])(:[0-9]{1,5})?(/[^#\\s]*)?)$';

const perMinute = (description: string) => whole(description, { minimum: 1, maximum: 1_000_000, format: 'int32' });

const limits = {
  rateLimits: block('Rate limits of the authorization server. Further requests get status 429.', {
    authorizationsPerMinute: perMinute('Authorization requests per minute from one address. Defaults to 60.'),
    registrationsPerMinute: perMinute('Registrations per minute from one address. Defaults to 5.'),
    registrationsPerMinuteOverall: perMinute('Registrations per minute from all addresses. Defaults to 120.'),
    documentFetchesPerMinute: perMinute('Metadata documents fetched per minute for one address. Defaults to 10.'),
    failuresPerMinute: perMinute('Wrong secrets and codes per minute from one client and address. Defaults to 10.'),
  }),
};

const clients = {
  baselineClientScopes: texts(
    'Scopes that every registered client gets.',
    { maxItems: 10, ...ATOMIC },
    { pattern: SCOPE_PATTERN, minLength: 1, maxLength: 256 },
  ),
  allowConfidentialClientRegistration: flag('Allow registration to issue client secrets.', { default: false }),
  forceConfidentialRedirectUris: texts(
    'Redirect URIs whose clients must register a client secret.',
    { maxItems: 10, ...ATOMIC },
    { pattern: '^https://[^\\s?#]+$', maxLength: 2048 },
  ),
  cimd: block('Clients identified by a client ID metadata document.', {
    enabled: flag('Accept such clients.', { default: true }),
    advertise: Type.Optional(
      Type.Enum(['auto', 'always', 'never'], {
        default: 'auto',
        description:
          'Whether the metadata of the server offer documents to clients, which register otherwise. `auto`: while documents can be fetched.',
      }),
    ),
    documents: blocks(
      'Clients whose documents are not fetched, for networks without a way out.',
      {
        clientId: Type.String({
          pattern: '^https?://[^/?#*\\s]+/[^#\\s]+$',
          maxLength: 2048,
          description: 'Client identifier: the URL of the document. `*` in its path stands for any characters.',
        }),
        clientName: Type.String({ minLength: 1, maxLength: 256, description: 'Name that users see.' }),
        redirectUris: Type.Array(Type.String({ pattern: REDIRECT_PATTERN, maxLength: 2048 }), {
          minItems: 1,
          maxItems: 10,
          description:
            'Redirect URIs. In the path of http to a loopback host, `*` stands for one segment or a part of one.',
          ...ATOMIC,
        }),
      },
      { maxItems: 32, ...ATOMIC },
    ),
    cacheMaxSize: whole('Maximum number of cached documents.', {
      minimum: 1,
      maximum: 2147483647,
      format: 'int32',
    }),
    cacheFallbackTtl: duration('Cache time for a document that states none.', { maxLength: 64 }),
    allowedHosts: hosts(
      'Hosts that documents may be fetched from; `*.DOMAIN` means every subdomain. All hosts when absent.',
    ),
    deniedHosts: hosts('Hosts that documents may not be fetched from.'),
    allowCrossOriginRedirects: flag('Allow a document to list redirect URIs of other sites.', { default: true }),
    allowLoopbackHTTP: flag('Allow documents on loopback hosts over http. Development only.', { default: false }),
  }),
  consent: block('Consent of users to clients.', {
    mode: Type.Optional(
      Type.Enum(['always', 'remember', 'trusted-only'], {
        default: 'remember',
        description:
          '`always`: ask at every login. `remember`: ask once per browser every 30 days. `trusted-only`: like `remember`, but never ask for `trustedClients`.',
      }),
    ),
    trustedClients: texts(
      'Clients that need no consent with `trusted-only`: an identifier, a URL with `*` in its path, or the host of metadata documents (`*.DOMAIN` for all below).',
      { maxItems: 64, ...ATOMIC },
      { minLength: 1, maxLength: 2048 },
    ),
  }),
  delegateClients,
  trustedIssuers,
};

/** `authServerConfig`: the authorization server inside the gateway. */
export const authServerConfig = () =>
  Type.Optional(
    Closed(
      {
        ...identity,
        ...clients,
        ...limits,
        disableUpstreamTokenInjection: flag('Do not attach upstream tokens to the identity of the user.', {
          default: false,
        }),
        insecureAllowHTTP: flag('Allow an http issuer on a host other than loopback.', { default: false }),
        insecureAllowConfidentialOverLoopbackHTTP: flag('Allow client secrets over http on loopback.', {
          default: false,
        }),
      },
      { description: 'Authorization server inside the gateway.' },
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

/** Returns true if client secrets are sent encrypted, or stay on the machine with the consent of the user. */
const mayHaveSecrets = (self: AuthServer): boolean =>
  self.issuer.startsWith('https://') ||
  (self.insecureAllowConfidentialOverLoopbackHTTP === true && self.insecureAllowHTTP !== true);

const clientRules: Rule[] = [
  rule<AuthServer>('', {
    field: 'allowConfidentialClientRegistration',
    rule: "!self.allowConfidentialClientRegistration || self.issuer.startsWith('https://') || (self.insecureAllowConfidentialOverLoopbackHTTP && !self.insecureAllowHTTP)",
    message: 'client secrets need an https issuer',
    check: (self) => self.allowConfidentialClientRegistration !== true || mayHaveSecrets(self),
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
    rule: "!has(self.delegateClients) || size(self.delegateClients) == 0 || self.issuer.startsWith('https://') || (self.insecureAllowConfidentialOverLoopbackHTTP && !self.insecureAllowHTTP)",
    message: 'delegateClients need an https issuer',
    check: (self) => (self.delegateClients ?? []).length === 0 || mayHaveSecrets(self),
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

export const upstreamRules: Rule[] = [
  ...union(
    '',
    'type',
    UPSTREAMS.map(({ type }) => ({ type, member: `${type}Config` })),
  ),
  ...UPSTREAMS.flatMap(({ type, rules }) => at(`${type}Config`, rules)),
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
