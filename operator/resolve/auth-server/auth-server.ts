import { SCOPE_PATTERN } from '../../../gateway/contract/fields.ts';
import type { EmbeddedAuthServerConfig } from '../../../gateway/contract/run-config/auth-server.ts';
import { SCHEMA_VERSION } from '../../../gateway/contract/run-config/run-config.ts';
import { describeTokens } from '../incoming/oidc.ts';
import { trustedProxiesOf, type Scope } from '../scope.ts';
import { resolveClients, resolveLimits } from './clients.ts';
import { resolveDelegation } from './delegation.ts';
import { resolveKeys } from './keys.ts';
import { resolveFilter, resolveProviders } from './providers.ts';
import { AUTH_SERVER_PATH, type AuthServerSpec } from './spec.ts';
import { resolveStorage } from './storage.ts';
import { checkTokens } from './tokens.ts';

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
  const message =
    'limits per client address are off, only the overall limits apply: list the networks of the Ingress or proxy in front';
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
    const message = `this server has no scope "${name}" (it has ${supported.join(', ')}): add it to the scopes of incomingAuth, or remove it`;
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
