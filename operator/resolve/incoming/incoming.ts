import { hasUsers, resolveMode } from '../../../gateway/incoming/index.ts';
import type { GatewayConfig, Incoming } from '../../../gateway/contract/gateway-config.ts';
import { networkFault } from '../../../gateway/contract/addresses.ts';
import { trustedProxiesOf, type Report, type Scope, type Identified, type ObjectScope } from '../scope.ts';
import { OIDC_SOURCES } from '../../../gateway/incoming/sources/index.ts';
import { SERVICE_AUDIENCE } from '../../../gateway/incoming/sources/kubernetes.ts';
import type { ResolvedSource, SourceScope } from '../../../gateway/incoming/mode.ts';
import { checkUserUrl } from '../addresses.ts';
import { bundleFile } from '../config-maps.ts';
import { checkReferences } from '../references.ts';
import type { MCPOIDCConfig, Snapshot } from '../snapshot.ts';
import { MCP_PATH } from '../../../gateway/contract/paths/public-paths.ts';

/** Resolves the incoming mode and the rules for origins, hosts and proxies. */
export function resolveIncoming(scope: Scope): { incoming: Incoming; oidc?: GatewayConfig['oidc_config'] } {
  const { type, allowedOrigins, allowedHosts } = scope.vmcp.spec.incomingAuth;
  const trustedProxies = trustedProxiesOf(scope);
  const report = scope.on(scope.vmcp);
  checkOrigins(allowedOrigins, report);
  checkHosts(allowedHosts, report);
  checkProxies(trustedProxies, report);
  const { incoming, config, oidc } = resolveMode(scope.vmcp.spec.incomingAuth, {
    tokens: () => resolveOidc(scope),
    secretFile: ({ name, key }) => scope.mount('Secret', name, key),
    problem: ({ reason, path, message }) => {
      report.problem(reason, `spec.incomingAuth.${type}${path === '' ? '' : `.${path}`}`, message);
    },
  });
  return {
    incoming: {
      type,
      ...incoming,
      ...(hasUsers(type) && tokenRules(scope)),
      ...(config && { config }),
      ...(allowedOrigins && { allowed_origins: allowedOrigins }),
      ...(allowedHosts && { allowed_hosts: allowedHosts }),
      ...(trustedProxies.length > 0 && { trusted_proxies: [...trustedProxies] }),
    },
    ...(oidc && { oidc }),
  };
}

function checkOrigins(allowedOrigins: readonly string[] | undefined, report: Report): void {
  allowedOrigins?.forEach((origin, index) => {
    const canonical = URL.parse(origin)?.origin;
    if (canonical === origin) return;
    const advice =
      canonical === undefined ? 'write scheme, host and port, such as https://app.example.com' : `write ${canonical}`;
    const path = `spec.incomingAuth.allowedOrigins[${String(index)}]`;
    report.problem('InvalidOrigin', path, `"${origin}" is not an origin as browsers send it: ${advice}`);
  });
}

function checkHosts(allowedHosts: readonly string[] | undefined, report: Report): void {
  allowedHosts?.forEach((host, index) => {
    if (URL.parse(`http://${host}`)?.host === host.toLowerCase().replace(/:80$/u, '')) return;
    const message = `"${host}" is not a host name: write a name or address, with :PORT if needed`;
    report.problem('InvalidHost', `spec.incomingAuth.allowedHosts[${String(index)}]`, message);
  });
}

function checkProxies(trustedProxies: readonly string[], report: Report): void {
  trustedProxies.forEach((network, index) => {
    const fault = networkFault(network);
    if (fault === undefined) return;
    report.problem('InvalidNetwork', `spec.incomingAuth.trustedProxies[${String(index)}]`, fault);
  });
}

export type Oidc = NonNullable<GatewayConfig['oidc_config']>;

/** Source of the accepted tokens, inline or from an MCPOIDCConfig. */
interface TokenSource {
  readonly source: 'inline' | 'kubernetes';
  /** Object that contains the source's spec. `path` is the path in it. */
  readonly owner: Identified;
  readonly path: string;
  readonly spec: object;
}

/** Source of tokens with the settings of this server. */
export interface TokenDescription extends TokenSource {
  readonly audience: string | undefined;
  readonly scopes: readonly string[] | undefined;
  readonly resource: PublicUrl;
}

function sharedSource(shared: MCPOIDCConfig): TokenSource {
  const { inline, kubernetes, kubernetesServiceAccount, type } = shared.spec;
  const member = type === 'inline' ? 'inline' : kubernetesServiceAccount ? 'kubernetesServiceAccount' : 'kubernetes';
  return {
    source: type === 'inline' ? 'inline' : 'kubernetes',
    owner: shared,
    path: `spec.${member}`,
    spec: (type === 'inline' ? inline : (kubernetes ?? kubernetesServiceAccount)) ?? {},
  };
}

/** Reads `oidcConfig` or the config that `oidcConfigRef` names; undefined when that is missing, as its reference reports. */
export function describeTokens(scope: Scope): TokenDescription | undefined {
  const { oidcConfig: inPlace, oidcConfigRef: ref, audience } = scope.vmcp.spec.incomingAuth;
  if (inPlace) {
    const { inline, kubernetes, type } = inPlace;
    const ofService = kubernetes?.audience ?? SERVICE_AUDIENCE;
    return {
      source: type,
      owner: scope.vmcp,
      path: `spec.incomingAuth.oidcConfig.${type}`,
      spec: (type === 'inline' ? inline : kubernetes) ?? {},
      audience: type === 'inline' ? inline?.audience : ofService,
      scopes: inline?.scopes,
      resource: {
        url: inPlace.resourceUrl,
        path: 'spec.incomingAuth.oidcConfig.resourceUrl',
        // An external provider's audience is often the name of an API, not the URL of this server.
        audience: scope.vmcp.spec.authServerConfig ? inline?.audience : undefined,
      },
    };
  }
  const shared = ref && scope.snapshot.oidcConfigs.get(ref.name);
  if (!shared) return undefined;
  return {
    ...sharedSource(shared),
    audience: audience ?? ref.audience,
    scopes: ref.scopes,
    resource: {
      url: ref.resourceUrl,
      path: 'spec.incomingAuth.oidcConfigRef.resourceUrl',
      audience: audience ?? ref.audience,
    },
  };
}

/** Resolves the token validation of the gateway; undefined without a source of tokens. */
function resolveOidc(scope: Scope): { oidc: Oidc; incoming: ResolvedSource['incoming'] } | undefined {
  const described = describeTokens(scope);
  if (!described) return undefined;
  const { audience, scopes = [], owner } = described;
  const report = scope.on(scope.vmcp);
  if (owner.kind === 'MCPOIDCConfig') checkSharedReferences(owner.metadata.name, scope);
  const { oidc, incoming } = resolveSource(described, scope.vmcp.spec.authServerConfig !== undefined, scope);
  const resource = resolveResourceUrl(described.resource, scope, report);
  checkClient(scope.vmcp.spec.incomingAuth, oidc, described, scope);
  return {
    incoming,
    oidc: {
      ...oidc,
      ...(audience !== undefined && { audience }),
      ...(scopes.length > 0 && { scopes: [...scopes] }),
      ...(resource !== undefined && { resourceURL: resource }),
    },
  };
}

/** Resolves a source. `inProcess` means tokens of the embedded authorization server, whose keys stay in the process. */
function resolveSource(
  { source, spec, owner, path }: TokenSource,
  inProcess: boolean,
  scope: ObjectScope,
): ResolvedSource {
  const report = scope.on(owner);
  const place = (below: string): string => (below === '' ? path : `${path}.${below}`);
  const variant = OIDC_SOURCES.find(({ type }) => type === source);
  if (!variant) throw new Error(`no source of tokens "${source}"`);
  const sourceScope: SourceScope = {
    mode: scope.platform.mode,
    secretFile: ({ name, key }) => scope.mount('Secret', name, key),
    bundleFile: (ref, below) => bundleFile(ref, place(below), scope, report),
    checkUrl(url, below, flags) {
      if (url === undefined || inProcess) return;
      checkUserUrl(url, { path: place(below), block: path, flags, mode: scope.platform.mode }, report);
    },
    problem: ({ reason, path: below, message }) => {
      report.problem(reason, place(below), message);
    },
    warning: ({ reason, path: below, message }) => {
      if (!inProcess) report.warning(reason, place(below), message);
    },
  };
  return variant.resolve(spec as never, sourceScope);
}

function checkSharedReferences(name: string, scope: Scope): void {
  const shared = scope.snapshot.oidcConfigs.get(name);
  if (shared) checkReferences(shared, scope, scope.on(shared));
}

/** Checks an MCPOIDCConfig independently of the servers that use it. */
export function checkTokenSource(config: MCPOIDCConfig, scope: ObjectScope): void {
  checkReferences(config, scope, scope.on(config));
  const issuer = config.spec.inline?.issuer;
  const { name } = config.metadata;
  const inProcess = embeddedIssuers(name, scope.snapshot).some((each) => each === issuer);
  resolveSource(sharedSource(config), inProcess, scope);
}

/** Lists the issuers of the embedded authorization servers whose tokens an MCPOIDCConfig describes. */
function embeddedIssuers(name: string, { vmcps, servers, externalAuthConfigs }: Snapshot): string[] {
  const ofVirtualServers = [...vmcps.values()]
    .filter(({ spec }) => spec.incomingAuth.oidcConfigRef?.name === name)
    .map(({ spec }) => spec.authServerConfig);
  const ofServers = [...servers.values()]
    .filter(({ spec }) => spec.oidcConfigRef?.name === name)
    .map(({ spec }) => externalAuthConfigs.get(spec.authServerRef?.name ?? '')?.spec.embeddedAuthServer);
  return [...ofVirtualServers, ...ofServers].flatMap((server) => server?.issuer ?? []);
}

/** Checks `requireClientId` against a referenced config. For an inline config a rule of the kind does. */
function checkClient(
  { requireClientId }: { readonly requireClientId?: boolean },
  { clientID }: Oidc,
  { owner }: TokenDescription,
  scope: Scope,
): void {
  if (requireClientId !== true || clientID !== undefined) return;
  const message = `requireClientId needs inline.clientId in ${owner.kind} "${owner.metadata.name}": set it there, or remove this field`;
  scope.on(scope.vmcp).problem('RuleViolated', 'spec.incomingAuth.requireClientId', message);
}

/** Returns the rules of `vmcp.incoming` that apply to every token. */
function tokenRules(scope: Scope): Pick<Incoming, 'required_scopes' | 'clock_skew_seconds' | 'require_client_id'> {
  const { requiredScopes = [], clockSkewSeconds, requireClientId } = scope.vmcp.spec.incomingAuth;
  return {
    ...(requiredScopes.length > 0 && { required_scopes: requiredScopes }),
    ...(clockSkewSeconds !== undefined && { clock_skew_seconds: clockSkewSeconds }),
    ...(requireClientId === true && { require_client_id: true }),
  };
}

/** Reason of a proxy setting that does not lead to the URL that clients get. */
const MISMATCH = 'PublicURLMismatch';

/** Returns the URL that clients outside of the cluster use, which the endpoint in the cluster is not. */
export const publicUrlOf = (oidc: GatewayConfig['oidc_config'], endpoint: string): string | undefined =>
  oidc?.resourceURL === endpoint ? undefined : oidc?.resourceURL;

/** Resolves the path prefix. Warns when it, or the host names of the route, do not lead to the resource URL. */
export function resolvePrefix(
  scope: Scope,
  oidc: GatewayConfig['oidc_config'],
): Pick<GatewayConfig, 'endpoint_prefix'> {
  const { endpointPrefix, route } = scope.vmcp.spec;
  const prefix = endpointPrefix?.replace(/\/$/u, '');
  const resource = URL.parse(publicUrlOf(oidc, scope.endpoint) ?? '');
  if (resource) {
    if (prefix !== undefined) checkPrefix(prefix, resource, scope);
    if (route?.hostnames) checkHost(route.hostnames, resource, scope);
  }
  return prefix === undefined ? {} : { endpoint_prefix: prefix };
}

function checkPrefix(prefix: string, resource: URL, scope: Scope): void {
  const expected = prefix + MCP_PATH;
  if (resource.pathname.replace(/\/$/u, '') === expected) return;
  const message = `clients get ${resource.href} as the resource, and with this prefix the endpoint is ${resource.origin}${expected}: correct the resource URL or the prefix`;
  scope.on(scope.vmcp).warning(MISMATCH, 'spec.endpointPrefix', message);
}

function checkHost(hostnames: readonly string[], { href, hostname }: URL, scope: Scope): void {
  if (hostnames.length === 0 || hostnames.some((name) => includes(name, hostname))) return;
  const message = `clients get ${href} as the resource, and the route has no host name for it: add ${hostname}, or correct the resource URL`;
  scope.on(scope.vmcp).warning(MISMATCH, 'spec.route.hostnames', message);
}

/** Returns true when a host name of a route, which may start with `*.`, includes a host. */
const includes = (name: string, host: string): boolean =>
  name === host || (name.startsWith('*.') && host.endsWith(name.slice(1)) && host.length > name.length - 1);

/** Candidates for the URL that clients call: a field, else an audience that is a URL. */
interface PublicUrl {
  readonly url: string | undefined;
  readonly path: string;
  readonly audience: string | undefined;
}

/**
 * Returns the RFC 9728 `resource` of a server. Undefined in local mode without a field: the URL then follows from the
 * port on which the gateway listens.
 */
function resolveResourceUrl({ url, path, audience }: PublicUrl, scope: Scope, report: Report): string | undefined {
  if (url !== undefined) return checkPublicUrl(url, path, report);
  if (audience !== undefined && isPublicUrl(audience)) return audience;
  if (scope.platform.mode === 'local') return undefined;
  const { endpoint } = scope;
  const message = `clients outside of the cluster receive ${endpoint} as the resource to log in for: set resourceUrl to the public URL of this server`;
  report.warning('ResourceURLUnset', 'spec.incomingAuth', message);
  return endpoint;
}

export const isPublicUrl = (text: string): boolean => publicUrlFault(text) === undefined;

function checkPublicUrl(text: string, path: string, report: Report): string {
  const fault = publicUrlFault(text);
  if (fault) report.problem(fault.reason, path, fault.message);
  return text;
}

function publicUrlFault(text: string): { reason: string; message: string } | undefined {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/u.test(url.protocol)) {
    return { reason: 'InvalidUrl', message: 'not an http or https URL: write https://HOST/mcp' };
  }
  if (url.username !== '' || url.password !== '') {
    return { reason: 'CredentialsInUrl', message: 'the URL contains a user name or password: remove it' };
  }
  if (!text.includes('#')) return undefined;
  return { reason: 'InvalidUrl', message: 'a resource URL has no fragment: remove the # and the text after it' };
}
