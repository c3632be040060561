import { ownCallback, redirectUriFaults, sharedCallback } from '../../../gateway/contract/addresses.ts';
import type { EmbeddedAuthServerConfig } from '../../../gateway/contract/run-config/auth-server.ts';
import { circularProblems, resolveUpstream, upstreamProblems } from '../../../gateway/authserver/upstream/index.ts';
import type { UpstreamScope } from '../../../gateway/authserver/upstream/upstream.ts';
import { bundleFile } from '../config-maps.ts';
import type { Report, Scope } from '../scope.ts';
import { checkUserUrl } from '../addresses.ts';
import { fieldOf, isOwnAddress, AUTH_SERVER_PATH, upstreamNames, type AuthServerSpec } from './spec.ts';

type Provider = AuthServerSpec['upstreamProviders'][number];
type Entries = NonNullable<EmbeddedAuthServerConfig['upstreams']>;

/** Resolves the upstream providers at which users log in. */
export function resolveProviders(server: AuthServerSpec, scope: Scope): Entries {
  const report = scope.on(scope.vmcp);
  checkRedirects(server, report);
  checkSharedCallbacks(server, report);
  checkIdentity(server, report);
  return server.upstreamProviders.map((provider, index) => {
    const path = `${AUTH_SERVER_PATH}.upstreamProviders[${String(index)}]`;
    const entry: Entries[number] = resolveUpstream(provider, providerScope(provider, path, scope));
    for (const problem of [...circularProblems(entry, server), ...upstreamProblems(entry)]) {
      report.problem(problem.reason, `${path}.${fieldOf(problem.path)}`, withFieldNames(problem.message));
    }
    return entry;
  });
}

function providerScope(provider: Provider, path: string, scope: Scope): UpstreamScope {
  const report = scope.on(scope.vmcp);
  const block = `${path}.${provider.type}Config`;
  return {
    upstreams: new Set(upstreamNames(scope)),
    secretFile: ({ name, key }) => scope.mount('Secret', name, key),
    bundleFile: (ref, below) => bundleFile(ref, `${block}.${below}`, scope, report),
    checkUrl(url, below, flags) {
      if (isOwnAddress(url, scope)) return; // reported by circularProblems
      const shown = scope.terms.field(block);
      checkUserUrl(url, { path: `${block}.${below}`, block: shown, flags, mode: scope.platform.mode }, report);
    },
    problem({ reason, path: below, message }) {
      report.problem(reason, `${block}.${below}`, message);
    },
  };
}

/** Names of configuration members in messages, and the fields of a resource that replace them. */
const WORDS: Readonly<Record<string, string>> = {
  'client_id and client_secret_file': 'clientId and clientSecretRef',
  identity_from_token: 'identityFromToken',
  insecure_allow_http: 'insecureAllowHTTP',
  'userinfo or': 'userInfo or',
};

const withFieldNames = (message: string): string =>
  Object.entries(WORDS).reduce((text, [ours, theirs]) => text.replaceAll(ours, theirs), message);

function checkRedirects(server: AuthServerSpec, report: Report): void {
  const holders = server.upstreamProviders.map(({ oauth2Config, oidcConfig }) => oauth2Config ?? oidcConfig);
  const faults = redirectUriFaults(
    server,
    holders.map((holder) => holder?.redirectUri),
  );
  faults.forEach((fault, index) => {
    if (fault === undefined) return;
    const block = `${String(server.upstreamProviders[index]?.type)}Config`;
    const path = `${AUTH_SERVER_PATH}.upstreamProviders[${String(index)}].${block}.redirectUri`;
    report.problem('RedirectOriginMismatch', path, fault);
  });
}

/** Warns about a shared callback: a code could be redeemed at the wrong provider unless both send `iss` (RFC 9207). */
function checkSharedCallbacks(server: AuthServerSpec, report: Report): void {
  const holders = new Map<string, string>();
  server.upstreamProviders.forEach(({ name, type, oidcConfig, oauth2Config }, index) => {
    const configured = (oauth2Config ?? oidcConfig)?.redirectUri;
    const own = index === 0 ? sharedCallback(server.issuer) : ownCallback(server.issuer, name);
    const holder = holders.get(configured ?? own);
    holders.set(configured ?? own, holder ?? name);
    if (holder === undefined) return;
    const path = `${AUTH_SERVER_PATH}.upstreamProviders[${String(index)}].${type}Config.redirectUri`;
    const message = `the provider "${holder}" also sends users back to this address, so a code of one could be mistaken for a code of the other unless they send iss (RFC 9207): leave redirectUri out, or give each its own`;
    report.warning('RedirectUriShared', path, message);
  });
}

/** Warns when the first provider does not identify users: each login is then a new user. */
function checkIdentity({ upstreamProviders: [first] }: AuthServerSpec, report: Report): void {
  const { oauth2Config: config } = first ?? {};
  if (!config || config.userInfo || config.identityFromToken) return;
  const message =
    'the first provider does not identify users, so every login is a new user without access to earlier logins: set userInfo or identityFromToken';
  report.warning('IdentitySynthesized', `${AUTH_SERVER_PATH}.upstreamProviders[0].oauth2Config`, message);
}

/** Resolves the rules that choose the upstream providers of a login. */
export function resolveFilter(scope: Scope): EmbeddedAuthServerConfig['upstream_filter'] {
  const filter = scope.vmcp.spec.authServerUpstreamFilter;
  if (!filter) return undefined;
  const path = 'spec.authServerUpstreamFilter';
  filter.rules.forEach(({ upstreamProviders }, index) => {
    checkNames(upstreamProviders, `${path}.rules[${String(index)}].upstreamProviders`, scope);
  });
  checkNames(filter.defaultUpstreams ?? [], `${path}.defaultUpstreams`, scope);
  return {
    ...(filter.claim !== undefined && { claim: filter.claim }),
    rules: filter.rules.map(({ groups, upstreamProviders }) => ({ groups, upstream_providers: upstreamProviders })),
    ...(filter.defaultUpstreams && { default_upstreams: filter.defaultUpstreams }),
  };
}

function checkNames(names: readonly string[], path: string, scope: Scope): void {
  const known = upstreamNames(scope);
  names.forEach((name, index) => {
    if (known.includes(name)) return;
    const message = `no upstream provider is named "${name}" (known: ${known.join(', ')}): correct the name`;
    scope.on(scope.vmcp).problem('UpstreamProviderUnknown', `${path}[${String(index)}]`, message);
  });
}
