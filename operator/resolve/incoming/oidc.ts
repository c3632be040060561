import type { GatewayConfig, Incoming } from '../../../gateway/contract/gateway-config.ts';
import { OIDC_SOURCES } from '../../../gateway/incoming/sources/index.ts';
import { SERVICE_AUDIENCE } from '../../../gateway/incoming/sources/kubernetes.ts';
import type { ResolvedSource, SourceScope } from '../../../gateway/incoming/mode.ts';
import { checkUserUrl } from '../user-url.ts';
import { bundleFile } from '../ca-bundle.ts';
import { checkReferences } from '../references.ts';
import { resolveResourceUrl, type PublicUrl } from './resource-url.ts';
import type { Identified, ObjectScope, Scope } from '../scope.ts';
import type { MCPOIDCConfig, Snapshot } from '../snapshot.ts';

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
export function resolveOidc(scope: Scope): { oidc: Oidc; incoming: ResolvedSource['incoming'] } | undefined {
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
export function tokenRules(
  scope: Scope,
): Pick<Incoming, 'required_scopes' | 'clock_skew_seconds' | 'require_client_id'> {
  const { requiredScopes = [], clockSkewSeconds, requireClientId } = scope.vmcp.spec.incomingAuth;
  return {
    ...(requiredScopes.length > 0 && { required_scopes: requiredScopes }),
    ...(clockSkewSeconds !== undefined && { clock_skew_seconds: clockSkewSeconds }),
    ...(requireClientId === true && { require_client_id: true }),
  };
}
