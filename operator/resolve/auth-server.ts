import { describeTokens, type TokenDescription } from './incoming-oidc.ts';
import { isPublicUrl } from './resource-url.ts';
import type { Report, Scope } from './scope.ts';
import type { VirtualMCPServer } from './snapshot.ts';

type AuthServer = NonNullable<VirtualMCPServer['spec']['authServerConfig']>;

const PATH = 'spec.authServerConfig';

/** Names in `authServerConfig.upstreamProviders`. */
export const upstreamNames = ({ vmcp }: Scope): string[] =>
  (vmcp.spec.authServerConfig?.upstreamProviders ?? []).map(({ name }) => name);

/** Whether a URL is one of the embedded authorization server's. */
export function isOwnAddress(url: string, { vmcp }: Scope): boolean {
  const own = vmcp.spec.authServerConfig?.issuer;
  return own !== undefined && isServedBy(url, own);
}

/** The one address of its own that the gateway may name: exchanges there happen in process. */
export const isOwnTokenEndpoint = (url: string, { vmcp }: Scope): boolean =>
  vmcp.spec.authServerConfig !== undefined && url === `${vmcp.spec.authServerConfig.issuer}/oauth/token`;

/** Whether the embedded authorization server fits the rest of its VirtualMCPServer. */
export function checkAuthServer(scope: Scope): void {
  const server = scope.vmcp.spec.authServerConfig;
  if (!server) return;
  const report = scope.on(scope.vmcp);
  const tokens = describeTokens(scope);
  if (tokens) {
    checkIssuer(server, tokens, report);
    checkAudience(tokens, scope, report);
    checkKeys(tokens, scope);
  }
  checkProviders(server, report);
  checkFilter(scope, report);
}

/** In place, a rule of the kind says the same. */
function checkIssuer({ issuer }: AuthServer, { owner, source, spec }: TokenDescription, report: Report): void {
  if (owner.kind !== 'MCPOIDCConfig') return;
  const { name } = owner.metadata;
  if (source !== 'inline') {
    const message = `MCPOIDCConfig "${name}" accepts service account tokens, and the embedded authorization server issues others: refer to one of type inline with issuer ${issuer}`;
    report.problem('IssuerMismatch', 'spec.incomingAuth.oidcConfigRef.name', message);
    return;
  }
  const { issuer: accepted } = spec as { readonly issuer?: string };
  if (accepted === issuer) return;
  const message = `MCPOIDCConfig "${name}" accepts tokens of ${String(accepted)} only: make the two issuers equal, character by character`;
  report.problem('IssuerMismatch', `${PATH}.issuer`, message);
}

/** The tokens that the embedded server issues are for the URL of this server, byte for byte. */
function checkAudience({ audience, resource }: TokenDescription, { vmcp }: Scope, report: Report): void {
  if (audience === undefined) return; // refused by a rule of the kind
  const { oidcConfigRef: ref, audience: beside } = vmcp.spec.incomingAuth;
  const inRef = ref?.audience !== undefined && beside === undefined;
  const path = ref
    ? `spec.incomingAuth.${inRef ? 'oidcConfigRef.audience' : 'audience'}`
    : 'spec.incomingAuth.oidcConfig.inline.audience';
  if (!isPublicUrl(audience)) {
    const message = 'with authServerConfig, the audience is the public URL of this server: write https://HOST/mcp';
    report.problem('AudienceMismatch', path, message);
  } else if (resource.url !== undefined && resource.url !== audience) {
    const message = `with authServerConfig, tokens are issued for resourceUrl alone (${resource.url}): make the two equal`;
    report.problem('AudienceMismatch', path, message);
  }
}

/** Keys of the embedded server are in process: another place for them would be asked for nothing, or asked in a circle. */
function checkKeys({ owner, path, spec }: TokenDescription, scope: Scope): void {
  const report = scope.on(owner);
  const urls = spec as Readonly<Record<string, unknown>>;
  for (const member of ['jwksUrl', 'introspectionUrl']) {
    const url = urls[member];
    if (typeof url !== 'string') continue;
    if (isOwnAddress(url, scope)) {
      report.problem('CircularAddress', `${path}.${member}`, circular('remove this field'));
    } else {
      const message = 'with authServerConfig, keys and tokens are looked up in process: remove this field';
      report.warning('NoEffect', `${path}.${member}`, message);
    }
  }
}

const PROVIDER_URLS = {
  oauth2Config: ['authorizationEndpoint', 'tokenEndpoint'],
  oidcConfig: ['issuerUrl'],
} as const;

function checkProviders(server: AuthServer, report: Report): void {
  server.upstreamProviders.forEach((provider, index) => {
    for (const [block, members] of Object.entries(PROVIDER_URLS)) {
      const holder = provider[block as keyof typeof PROVIDER_URLS] as Readonly<Record<string, unknown>> | undefined;
      for (const member of members) {
        const url = holder?.[member];
        if (typeof url !== 'string' || !isServedBy(url, server.issuer)) continue;
        const path = `${PATH}.upstreamProviders[${String(index)}].${block}.${member}`;
        report.problem('CircularAddress', path, circular('name another identity provider'));
      }
    }
  });
}

/** `advice` is what to do about a URL of our own. */
export const circular = (advice: string): string =>
  `this is the embedded authorization server of the same VirtualMCPServer, which would ask itself: ${advice}`;

function checkFilter(scope: Scope, report: Report): void {
  const filter = scope.vmcp.spec.authServerUpstreamFilter;
  const known = upstreamNames(scope);
  const check = (names: readonly string[], path: string): void => {
    names.forEach((name, index) => {
      if (known.includes(name)) return;
      const message = `no upstream provider is named "${name}" (there is ${known.join(', ')}): correct the name`;
      report.problem('UpstreamProviderUnknown', `${path}[${String(index)}]`, message);
    });
  };
  filter?.rules.forEach(({ upstreamProviders }, index) => {
    check(upstreamProviders, `spec.authServerUpstreamFilter.rules[${String(index)}].upstreamProviders`);
  });
  check(filter?.defaultUpstreams ?? [], 'spec.authServerUpstreamFilter.defaultUpstreams');
}

/** Folders of the authorization server's own below its issuer; others of the same host may be anybody's. */
const OWN_FOLDERS = ['/oauth/', '/.well-known/'];

/** Whether a URL is an issuer or one of its endpoints, however the two are spelled. */
function isServedBy(text: string, issuer: string): boolean {
  const [url, root] = [URL.parse(text), URL.parse(issuer)];
  if (!url || !root || url.origin !== root.origin) return false;
  const base = root.pathname.replace(/\/$/u, '');
  const path = url.pathname.replace(/\/$/u, '');
  return path === base || OWN_FOLDERS.some((folder) => path.startsWith(base + folder));
}
