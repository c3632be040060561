import { SCOPE_PATTERN } from '../../../gateway/contract/fields.ts';
import type { EmbeddedAuthServerConfig } from '../../../gateway/contract/run-config/auth-server.ts';
import { SCHEMA_VERSION } from '../../../gateway/contract/run-config/run-config.ts';
import { describeTokens } from '../incoming/incoming.ts';
import { trustedProxiesOf, type Scope, type Report } from '../scope.ts';
import { resolveDelegation, checkTokens } from './tokens.ts';
import { resolveFilter, resolveProviders } from './providers.ts';
import { AUTH_SERVER_PATH, type AuthServerSpec } from './spec.ts';
import { storeFacts, resolveStore, storeOf, STORES } from '../../../gateway/authserver/storage/index.ts';
import { reportUnshared } from '../replicas.ts';
import type { StorageConfig } from '../../../gateway/contract/run-config/auth-server-storage.ts';
import type { StoreScope } from '../../../gateway/authserver/storage/variant.ts';

/** Resolves the embedded authorization server and checks it against the rest of its VirtualMCPServer. */
export function resolveAuthServer(scope: Scope): EmbeddedAuthServerConfig | undefined {
  const server = scope.vmcp.spec.authServerConfig;
  if (!server) return undefined;
  checkTokens(server, scope);
  checkProxies(scope);
  const filter = resolveFilter(scope);
  const audience = describeTokens(scope)?.audience;
  const issued = {
    ...(audience !== undefined && { allowed_audiences: [audience] }),
    ...resolveScopes(server, scope),
  };
  return {
    schema_version: SCHEMA_VERSION,
    issuer: server.issuer,
    ...(server.authorizationEndpointBaseUrl !== undefined && {
      authorization_endpoint_base_url: server.authorizationEndpointBaseUrl,
    }),
    ...(server.insecureAllowHTTP === true && { insecure_allow_http: true }),
    ...issued,
    ...resolveKeys(server, scope),
    ...resolveLifespans(server),
    ...resolveClients(server, scope),
    ...resolveDelegation(server, issued, scope),
    upstreams: resolveProviders(server, scope),
    ...(filter && { upstream_filter: filter }),
    ...(server.reuseUpstreamTokens === false && { reuse_upstream_tokens: false }),
    ...(server.disableUpstreamTokenInjection === true && { disable_upstream_token_injection: true }),
    ...resolveLimits(server),
    storage: resolveStorage(server, scope),
  };
}

/** Warns when limits per client address are off: without trusted proxies, pods see only the address of the Ingress. */
function checkProxies(scope: Scope): void {
  if (scope.platform.mode === 'local' || trustedProxiesOf(scope).length > 0) return;
  const message = `limits per client address are off, only the overall limits apply: ${scope.terms.trustProxies}`;
  scope.on(scope.vmcp).warning('TrustedProxiesUnset', 'spec.incomingAuth.trustedProxies', message);
}

/** Scopes offered when the spec lists none. */
const DEFAULT_SCOPES = ['openid', 'profile', 'email', 'offline_access'];

/** Resolves the offered scopes: the advertised ones, or the defaults, and the required ones. */
function resolveScopes(
  server: AuthServerSpec,
  scope: Scope,
): Pick<EmbeddedAuthServerConfig, 'scopes_supported' | 'baseline_client_scopes'> {
  const { requiredScopes = [] } = scope.vmcp.spec.incomingAuth;
  const advertised = describeTokens(scope)?.scopes ?? [];
  const supported = [...new Set([...(advertised.length > 0 ? advertised : DEFAULT_SCOPES), ...requiredScopes])];
  const { baselineClientScopes: baseline = [] } = server;
  checkScopeWords(advertised, scope);
  baseline.forEach((name, index) => {
    if (supported.includes(name)) return;
    const message = `this server has no scope "${name}" (it has ${supported.join(', ')}): add it to ${scope.terms.scopes}, or remove it`;
    scope.on(scope.vmcp).problem('RuleViolated', `${AUTH_SERVER_PATH}.baselineClientScopes[${String(index)}]`, message);
  });
  return {
    scopes_supported: supported,
    ...(baseline.length > 0 && { baseline_client_scopes: baseline }),
  };
}

function checkScopeWords(advertised: readonly string[], scope: Scope): void {
  const holder = scope.vmcp.spec.incomingAuth.oidcConfigRef ? 'oidcConfigRef' : 'oidcConfig.inline';
  advertised.forEach((name, index) => {
    if (new RegExp(SCOPE_PATTERN, 'u').test(name)) return;
    const message = 'must be one scope, without spaces and quotes (RFC 6749 §3.3): write one item each';
    const path = `spec.incomingAuth.${holder}.scopes[${String(index)}]`;
    scope.on(scope.vmcp).problem('InvalidValue', path, message);
  });
}

function resolveLifespans({
  tokenLifespans: spec,
  refreshGraceSeconds: grace,
}: AuthServerSpec): Pick<EmbeddedAuthServerConfig, 'token_lifespans' | 'refresh_grace_seconds'> {
  const { accessTokenLifespan, refreshTokenLifespan, authCodeLifespan } = spec ?? {};
  return {
    ...(spec && {
      token_lifespans: {
        ...(accessTokenLifespan !== undefined && { access_token_lifespan: accessTokenLifespan }),
        ...(refreshTokenLifespan !== undefined && { refresh_token_lifespan: refreshTokenLifespan }),
        ...(authCodeLifespan !== undefined && { auth_code_lifespan: authCodeLifespan }),
      },
    }),
    ...(grace !== undefined && { refresh_grace_seconds: grace }),
  };
}

/** Resolves the rules for clients and for consent. */
function resolveClients(server: AuthServerSpec, scope: Scope): Partial<EmbeddedAuthServerConfig> {
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
function resolveLimits({ rateLimits: spec }: AuthServerSpec): Pick<EmbeddedAuthServerConfig, 'rate_limits'> {
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

type Keys = Pick<EmbeddedAuthServerConfig, 'signing_key_config' | 'hmac_secret_files'>;
type Refs = NonNullable<AuthServerSpec['signingKeySecretRefs']>;

const MEMBERS = ['signingKeySecretRefs', 'hmacSecretRefs'] as const;

/**
 * Resolves the signing keys and secrets. Reports missing ones in a cluster, where each pod generates them at every start; local
 * mode keeps generated ones in its state folder.
 */
function resolveKeys(server: AuthServerSpec, scope: Scope): Keys {
  const { signingKeySecretRefs: signing = [], hmacSecretRefs: secrets = [] } = server;
  const report = scope.on(scope.vmcp);
  for (const member of MEMBERS) checkRepeated(server[member] ?? [], `${AUTH_SERVER_PATH}.${member}`, report);
  for (const { name, key } of signing) scope.mount('Secret', name, key);
  const [first, ...others] = signing.map(({ name, key }) => `${name}/${key}`);
  const ephemeral = MEMBERS.filter((member) => (server[member] ?? []).length === 0);
  if (scope.platform.mode === 'cluster') checkEphemeral(ephemeral, server, scope);
  return {
    ...(first !== undefined && {
      signing_key_config: {
        key_dir: scope.platform.secretsDir,
        signing_key_file: first,
        ...(others.length > 0 && { fallback_key_files: others }),
      },
    }),
    ...(secrets.length > 0 && { hmac_secret_files: secrets.map(({ name, key }) => scope.mount('Secret', name, key)) }),
  };
}

function checkRepeated(refs: Refs, path: string, report: Report): void {
  const names = refs.map(({ name, key }) => `${name}/${key}`);
  names.forEach((name, index) => {
    if (names.indexOf(name) === index) return;
    report.problem('InvalidValue', `${path}[${String(index)}]`, 'this key is listed above: remove it');
  });
}

const LOST = {
  signingKeySecretRefs: 'access tokens',
  hmacSecretRefs: 'codes, refresh tokens and stored logins',
} as const satisfies Readonly<Record<(typeof MEMBERS)[number], string>>;

function checkEphemeral(members: readonly (typeof MEMBERS)[number][], server: AuthServerSpec, scope: Scope): void {
  const [first, second] = members;
  if (first === undefined) return;
  const report = scope.on(scope.vmcp);
  const lost = members.map((member) => LOST[member]).join(', ');
  const kept = storeFacts(server.storage?.type).survivesRestart ? ', although the store keeps them' : '';
  const advice = `list keys in ${members.join(' and ')}`;
  const path = second === undefined ? `${AUTH_SERVER_PATH}.${first}` : AUTH_SERVER_PATH;
  report.warning('EphemeralKeys', path, `a restart invalidates all ${lost}${kept}: ${advice}`);
  if (server.allowEphemeralKeys === true) return;
  const consequence = (replicas: number): string =>
    `each of the ${String(replicas)} pods would generate its own keys and reject the tokens of the others`;
  reportUnshared({ consequence, advice }, scope);
}

const PATH = `${AUTH_SERVER_PATH}.storage`;

/** Resolves the store of the authorization server. */
function resolveStorage({ storage = {} }: AuthServerSpec, scope: Scope): StorageConfig {
  if (scope.platform.mode === 'cluster') checkPods(storage, scope);
  return resolveStore(storage, (member) => storeScope(`${PATH}.${member}`, scope));
}

/** Checks that the store outlives a pod, and that all pods share it. */
function checkPods(storage: NonNullable<AuthServerSpec['storage']>, scope: Scope): void {
  const report = scope.on(scope.vmcp);
  const { isShared, survivesRestart } = storeOf(storage);
  if (!survivesRestart) {
    const message = `a restart of the pod loses every login and every registered client: ${adviceFor('survivesRestart')}`;
    report.warning('EphemeralStorage', PATH, message);
  }
  if (isShared) return;
  const consequence = (): string => 'logins in the memory of one pod are not available to the other pods';
  // The reason for a single pod names the block of a VirtualMCPServer for every kind.
  const block = scope.vmcp.spec.replicas === undefined ? 'authServerConfig' : scope.terms.authServerBlock;
  reportUnshared({ consequence, advice: `${adviceFor('isShared')} in ${block}` }, scope);
}

const adviceFor = (fact: 'isShared' | 'survivesRestart'): string =>
  `set storage.type: ${STORES.filter((store) => store[fact])
    .map(({ type }) => type)
    .join(' or ')}`;

function storeScope(path: string, scope: Scope): StoreScope {
  const report = scope.on(scope.vmcp);
  return {
    namespace: scope.snapshot.namespace,
    name: scope.storeName,
    mode: scope.platform.mode,
    secretFile: ({ name, key }) => scope.mount('Secret', name, key),
    problem: (problem) => report.problem(problem.reason, `${path}.${problem.path}`, problem.message),
    warning: (problem) => report.warning(problem.reason, `${path}.${problem.path}`, problem.message),
  };
}
