import type { GatewayConfig } from '../contract/gateway-config.ts';
import { below, invalid, missing, problem, repeated, type Problem } from '../contract/problem.ts';
import type { EmbeddedAuthServerConfig } from '../contract/run-config/auth-server.ts';
import { allowedAudiences, providerNames, supportedScopes } from './read-settings.ts';
import { readLifespans } from './core/lifespans.ts';
import { signingKeyFiles } from './keys/generated-keys.ts';
import { readStorage } from './storage/index.ts';
import { clientProblems } from './client-problems.ts';
import { delegationProblems } from './trust/delegation-problems.ts';
import { baseUrlFault, redirectUriFaults } from '../contract/addresses.ts';
import { isEncrypted } from '../contract/rule.ts';
import { endpointPath, redirectUris, type Endpoint } from '../contract/paths/public-paths.ts';
import { acceptsAuthServer } from '../incoming/index.ts';
import { DNS_LABEL_PATTERN } from '../contract/fields.ts';
import { circularProblems, upstreamProblems } from './upstream/index.ts';

const MAX_SECRETS = 5;

/** Checks the rules for `embedded_auth_server_config` that its schema cannot express. */
export function authServerProblems(given: GatewayConfig): Problem[] {
  const { embedded_auth_server_config: config } = given;
  if (!config) return [];
  const own = [
    ...addressProblems(config),
    ...keyProblems(config),
    ...providerProblems(config),
    ...clientProblems(config),
    ...delegationProblems(config, boundsOf(given, config)),
    ...storageProblems(config),
  ];
  return [...below('embedded_auth_server_config', own), ...boundaryProblems(given, config)];
}

const boundsOf = ({ oidc_config: oidc }: GatewayConfig, config: EmbeddedAuthServerConfig) => ({
  own: {
    issuer: config.issuer ?? '',
    authorizationEndpointBaseUrl: config.authorization_endpoint_base_url,
  },
  audiences: allowedAudiences(config, oidc),
  scopes: supportedScopes(config),
});

function storageProblems({ storage = {} }: EmbeddedAuthServerConfig): Problem[] {
  const read = readStorage(storage);
  return 'problems' in read ? below('storage', read.problems) : [];
}

/** Checks the lifetimes of tokens and the keys that sign them. */
const keyProblems = (config: EmbeddedAuthServerConfig): Problem[] => [
  ...readLifespans(config.token_lifespans).problems,
  ...signingKeyFiles(config.signing_key_config).problems,
  ...secretProblems(config.hmac_secret_files ?? []),
];

function secretProblems(files: readonly string[]): Problem[] {
  const path = 'hmac_secret_files';
  return [
    ...(files.length > MAX_SECRETS ? [invalid(path, `use at most ${String(MAX_SECRETS)} secrets`)] : []),
    ...(files.includes('') ? [invalid(`${path}[${String(files.indexOf(''))}]`, 'name a file')] : []),
    ...repeated(files, path, 'name every secret once'),
  ];
}

/** Checks the server's own URLs and the redirect URIs of the providers. */
function addressProblems(config: EmbeddedAuthServerConfig): Problem[] {
  const { issuer, authorization_endpoint_base_url: base, insecure_allow_http: insecure = false } = config;
  if (issuer === undefined) return [missing('issuer', 'set issuer: every address of the server follows from it')];
  const own = [
    ...baseUrlProblems(issuer, 'issuer', insecure),
    ...(base === undefined ? [] : baseUrlProblems(base, 'authorization_endpoint_base_url', insecure)),
  ];
  return own.length > 0 ? own : redirectProblems(config, issuer);
}

function baseUrlProblems(text: string, path: string, insecure: boolean): Problem[] {
  const fault = baseUrlFault(text);
  if (fault) return [problem(fault.reason, path, fault.message)];
  if (insecure || isEncrypted(text)) return [];
  return [problem('InsecureUrl', path, 'http is not encrypted: use https, or set insecure_allow_http: true')];
}

function redirectProblems(config: EmbeddedAuthServerConfig, issuer: string): Problem[] {
  const { authorization_endpoint_base_url: authorizationEndpointBaseUrl, upstreams = [] } = config;
  const uris = redirectUris(config);
  return redirectUriFaults({ issuer, authorizationEndpointBaseUrl }, uris).flatMap((fault, index) => {
    const block = upstreams[index]?.oauth2_config ? 'oauth2_config' : 'oidc_config';
    const path = `upstreams[${String(index)}].${block}.redirect_uri`;
    if (fault !== undefined) return [problem('RedirectOriginMismatch', path, fault)];
    return isTaken(uris[index], issuer) ? [invalid(path, TAKEN)] : [];
  });
}

const TAKEN = 'the gateway serves something else at this path: use one such as /oauth/callback';
const GATEWAY_PATHS: readonly string[] = ['/mcp', '/sse', '/messages', '/health', '/ping', '/readyz'];
const OTHER_ENDPOINTS: readonly Endpoint[] = [
  ...(['authorize', 'consent', 'token', 'register'] as const),
  ...(['revoke', 'introspect', 'userinfo', 'logout'] as const),
];

function isTaken(redirectUri: string | undefined, issuer: string): boolean {
  const path = URL.parse(redirectUri ?? '')?.pathname ?? '';
  const taken = [...GATEWAY_PATHS, ...OTHER_ENDPOINTS.map((name) => endpointPath(name, issuer))];
  return taken.includes(path) || path.includes('/.well-known/');
}

const AUDIENCES = 'embedded_auth_server_config.allowed_audiences';

/** Checks that the incoming boundary accepts the issued tokens. Paths start at the root of the document. */
function boundaryProblems(given: GatewayConfig, config: EmbeddedAuthServerConfig): Problem[] {
  const { incoming } = given.vmcp;
  if (!acceptsAuthServer(incoming.type)) {
    const message =
      'embedded_auth_server_config is for servers that ask for its tokens: set type to oidc, or remove it';
    return [problem('RuleViolated', 'vmcp.incoming.type', message)];
  }
  return [
    ...issuerProblems(given, config),
    ...allowedAudiences(config, given.oidc_config).flatMap((audience) => audienceProblems(audience, config)),
    ...acceptedProblems(given, config),
    ...requiredScopeProblems(given, config),
  ];
}

function issuerProblems({ oidc_config: oidc, vmcp }: GatewayConfig, { issuer }: EmbeddedAuthServerConfig): Problem[] {
  if (vmcp.incoming.source === 'kubernetes') {
    const message = 'the embedded authorization server issues no service account tokens: set source to inline';
    return [problem('IssuerMismatch', 'vmcp.incoming.source', message)];
  }
  if (oidc?.issuer === undefined || oidc.issuer === issuer) return [];
  const message = `the embedded authorization server issues tokens of ${String(issuer)}: make the two equal, character by character`;
  return [problem('IssuerMismatch', 'oidc_config.issuer', message)];
}

function audienceProblems(audience: string, config: EmbeddedAuthServerConfig): Problem[] {
  // the default comes from oidc_config, which is checked itself
  const index = config.allowed_audiences?.indexOf(audience) ?? -1;
  const path = index >= 0 ? `${AUDIENCES}[${String(index)}]` : 'oidc_config.audience';
  const url = URL.parse(audience);
  const isResource =
    url !== null &&
    /^https?:$/u.test(url.protocol) &&
    url.username === '' &&
    url.password === '' &&
    !audience.includes('#');
  if (isResource) return [];
  const message =
    'clients name it as the resource (RFC 8707): write a URL such as https://HOST/mcp, without a fragment';
  return [problem('AudienceMismatch', path, message)];
}

function acceptedProblems({ oidc_config: oidc }: GatewayConfig, config: EmbeddedAuthServerConfig): Problem[] {
  const { audience, resourceURL: resource } = oidc ?? {};
  if (audience === undefined || audience === '') return []; // a problem of oidc_config itself
  if (resource !== undefined && resource !== audience) {
    const message = `tokens are issued for oidc_config.resourceURL (${resource}): make the two equal`;
    return [problem('AudienceMismatch', 'oidc_config.audience', message)];
  }
  if (allowedAudiences(config, oidc).includes(audience)) return [];
  const message = `no token is issued for oidc_config.audience (${audience}): add it`;
  return [problem('AudienceMismatch', AUDIENCES, message)];
}

function requiredScopeProblems({ vmcp }: GatewayConfig, config: EmbeddedAuthServerConfig): Problem[] {
  const supported = supportedScopes(config);
  return (vmcp.incoming.required_scopes ?? []).flatMap((scope, index) => {
    if (supported.includes(scope)) return [];
    const path = `vmcp.incoming.required_scopes[${String(index)}]`;
    return [problem('RuleViolated', path, `no token can have "${scope}": add it to scopes_supported, or remove it`)];
  });
}

const MAX_PROVIDERS = 8;
const MAX_NAME_LENGTH = 63;

/** Checks the upstream providers and the upstream filter. */
function providerProblems(config: EmbeddedAuthServerConfig): Problem[] {
  const { upstreams = [] } = config;
  if (upstreams.length === 0) return [missing('upstreams', 'name an identity provider: users log in there')];
  return [
    ...(upstreams.length > MAX_PROVIDERS
      ? [invalid('upstreams', `name at most ${String(MAX_PROVIDERS)} providers`)]
      : []),
    ...nameProblems(config),
    ...upstreams.flatMap((entry, index) =>
      below(`upstreams[${String(index)}]`, [...circleProblems(entry, config), ...upstreamProblems(entry)]),
    ),
    ...filterProblems(config),
  ];
}

/** Finds upstream addresses of this server itself. Without an issuer there is nothing to find. */
const circleProblems = (
  entry: Parameters<typeof circularProblems>[0],
  { issuer, authorization_endpoint_base_url: authorizationEndpointBaseUrl }: EmbeddedAuthServerConfig,
): Problem[] => (issuer === undefined ? [] : circularProblems(entry, { issuer, authorizationEndpointBaseUrl }));

function nameProblems({ upstreams = [] }: EmbeddedAuthServerConfig): Problem[] {
  const names = upstreams.map(({ name }) => name);
  return names.flatMap((name, index): Problem[] => {
    const path = `upstreams[${String(index)}].name`;
    if (name === undefined) {
      return names.length === 1 ? [] : [missing(path, 'only a provider that is the only one needs no name: set it')];
    }
    if (!new RegExp(DNS_LABEL_PATTERN, 'u').test(name) || name.length > MAX_NAME_LENGTH) {
      const message = `"${name}" is not a DNS label: use at most 63 lower-case letters, digits and hyphens`;
      return [invalid(path, message)];
    }
    return names.indexOf(name) === index ? [] : [invalid(path, `two providers are named "${name}": rename one`)];
  });
}

function filterProblems(config: EmbeddedAuthServerConfig): Problem[] {
  const { upstream_filter: filter } = config;
  if (!filter) return [];
  const path = 'upstream_filter';
  const { rules = [], default_upstreams: others = [], claim } = filter;
  return [
    ...(providerNames(config).length > 1
      ? []
      : [problem('RuleViolated', path, 'with one provider there is nothing to choose from: remove it')]),
    ...(claim === '' ? [invalid(`${path}.claim`, 'name the claim')] : []),
    ...(rules.length === 0 ? [missing(`${path}.rules`, 'add a rule that maps groups to providers')] : []),
    ...rules.flatMap(({ groups = [], upstream_providers: providers = [] }, index) => {
      const here = `${path}.rules[${String(index)}]`;
      return [
        ...(groups.length === 0 ? [missing(`${here}.groups`, 'say whom the rule is for')] : []),
        ...(providers.length === 0
          ? [missing(`${here}.upstream_providers`, 'name the providers for these groups')]
          : []),
        ...unknownNames(config, providers, `${here}.upstream_providers`),
      ];
    }),
    ...unknownNames(config, others, `${path}.default_upstreams`),
  ];
}

function unknownNames(config: EmbeddedAuthServerConfig, names: readonly string[], path: string): Problem[] {
  const known = providerNames(config);
  return names.flatMap((name, index) => {
    if (known.includes(name)) return [];
    const message = `no upstream provider has this name (known: ${known.join(', ')}): correct it`;
    return [problem('UpstreamProviderUnknown', `${path}[${String(index)}]`, message)];
  });
}
