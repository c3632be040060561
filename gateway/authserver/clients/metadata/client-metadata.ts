import { LOGIN_GRANT_TYPES, type GrantType } from '../../core/token-request.ts';
import type { AuthMethod, ClientMetadata } from '../../storage/records.ts';
import { MetadataMembers, type MetadataProblem } from './metadata-members.ts';
import { checkRedirectUri, checkRedirectUris, MAX_URIS, type RedirectRules } from './redirect-uri.ts';

/** Limits for the metadata of clients that nobody has verified. */
export interface MetadataRules {
  readonly scopesSupported: readonly string[];
  /** Scopes of clients that request none. */
  readonly defaultScopes: readonly string[];
  /** Scopes that every client gets additionally. */
  readonly baselineScopes: readonly string[];
  readonly allowConfidential: boolean;
  /** A registration with one of these gets a secret even without requesting one. Needs `allowConfidential`. */
  readonly forceConfidentialRedirectUris: readonly string[];
  /** Allow https redirects to literal private addresses. Development only. */
  readonly privateAddresses: boolean;
}

export type MetadataReading =
  | { readonly ok: true; readonly metadata: ClientMetadata }
  | { readonly ok: false; readonly problems: readonly MetadataProblem[] };

/**
 * Origin of metadata. A `registration` is sent to this server: unsupported scopes are rejected. A `document` is written for all
 * servers: they are ignored. Further grants are left out of both, and the reply to a registration shows the rest.
 * @see RFC 7591 §3.2.1
 */
type MetadataSource = 'registration' | 'document';

const CONFIDENTIAL_METHODS: ReadonlySet<unknown> = new Set<AuthMethod>(['client_secret_basic', 'client_secret_post']);
const SCOPE = /^[\x21\x23-\x5B\x5D-\x7E]+$/u;

/** Reads the metadata of a client. @see RFC 7591 §2 */
export function readMetadata(
  document: ReadonlyMap<string, unknown>,
  rules: MetadataRules,
  source: MetadataSource,
): MetadataReading {
  const members = new MetadataMembers(document);
  const redirectUris = members.list('redirect_uris', 'invalid_redirect_uri') ?? [];
  const method = readAuthMethod(members, rules, source, redirectUris);
  checkRedirects(members, redirectUris, rules, { source, method });
  const metadata: ClientMetadata = {
    redirect_uris: [...new Set(redirectUris)],
    token_endpoint_auth_method: method,
    grant_types: readGrantTypes(members),
    response_types: readResponseTypes(members, source),
    scope: readScope(members, rules, source),
    ...readLogoutRedirects(members, rules, { source, method }),
    ...readDescription(members),
  };
  const { problems } = members;
  return problems.length === 0 ? { ok: true, metadata } : { ok: false, problems };
}

/** Reads the method. The default is `none`, unlike RFC 7591: MCP clients leave the member out and are public. */
function readAuthMethod(
  members: MetadataMembers,
  { allowConfidential, forceConfidentialRedirectUris }: MetadataRules,
  source: MetadataSource,
  redirectUris: readonly string[],
): AuthMethod {
  const confidential = source === 'registration' && allowConfidential;
  const asked = members.text('token_endpoint_auth_method', 64) ?? 'none';
  if (asked === 'none') {
    const forced = confidential && redirectUris.some((uri) => forceConfidentialRedirectUris.includes(uri));
    return forced ? 'client_secret_post' : 'none';
  }
  if (confidential && isConfidentialMethod(asked)) return asked;
  if (source === 'document' && asked === 'private_key_jwt') return asked;
  const offered = offeredMethods(source, confidential);
  members.problem('token_endpoint_auth_method', `must be ${offered}`);
  return 'none';
}

function offeredMethods(source: MetadataSource, confidential: boolean): string {
  if (source === 'document') return 'none or private_key_jwt';
  return confidential ? 'none, client_secret_basic or client_secret_post' : 'none';
}

const isConfidentialMethod = (method: string): method is AuthMethod => CONFIDENTIAL_METHODS.has(method);

function checkRedirects(
  members: MetadataMembers,
  redirectUris: readonly string[],
  rules: MetadataRules,
  asks: { readonly source: MetadataSource; readonly method: AuthMethod },
): void {
  for (const message of checkRedirectUris(redirectUris, redirectRules(rules, asks))) members.redirectProblem(message);
}

/** Reads the logout redirect URIs; undefined for an empty list. Skips disallowed ones of a document. */
function readLogoutRedirects(
  members: MetadataMembers,
  rules: MetadataRules,
  asks: { readonly source: MetadataSource; readonly method: AuthMethod },
): Pick<ClientMetadata, 'post_logout_redirect_uris'> {
  const name = 'post_logout_redirect_uris';
  const asked = [...new Set(members.list(name) ?? [])];
  if (asked.length === 0) return {};
  const redirects = redirectRules(rules, asks);
  if (asks.source === 'document') {
    const allowed = asked.filter((uri) => checkRedirectUri(uri, redirects) === undefined).slice(0, MAX_URIS);
    return allowed.length === 0 ? {} : { [name]: allowed };
  }
  for (const problem of checkRedirectUris(asked, redirects, name)) members.metadataProblem(problem);
  return { [name]: asked };
}

function redirectRules(
  { privateAddresses }: MetadataRules,
  { source, method }: { readonly source: MetadataSource; readonly method: AuthMethod },
): RedirectRules {
  const loopback = method === 'none';
  return { loopback, privateUse: loopback && source === 'registration', privateAddresses };
}

function readGrantTypes(members: MetadataMembers): readonly GrantType[] {
  const asked = members.list('grant_types');
  if (asked === undefined) return LOGIN_GRANT_TYPES;
  const known = LOGIN_GRANT_TYPES.filter((grant) => asked.includes(grant));
  if (!known.includes('authorization_code')) members.problem('grant_types', 'must have authorization_code');
  return known;
}

function readResponseTypes(members: MetadataMembers, source: MetadataSource): readonly ['code'] {
  const asked = members.list('response_types') ?? ['code'];
  const foreign = asked.some((type) => type !== 'code');
  if (!asked.includes('code') || (foreign && source === 'registration'))
    members.problem('response_types', 'must be code');
  return ['code'];
}

function readScope(members: MetadataMembers, rules: MetadataRules, source: MetadataSource): string {
  const { scopesSupported, defaultScopes, baselineScopes } = rules;
  const asked = members.words('scope');
  const supported = asked.filter((scope) => scopesSupported.includes(scope));
  if (source === 'registration' && asked.some((scope) => !SCOPE.test(scope) || !scopesSupported.includes(scope)))
    members.problem('scope', 'has a scope that is not in scopes_supported');
  return [...new Set([...(supported.length > 0 ? supported : defaultScopes), ...baselineScopes])].join(' ');
}

type Description = Omit<
  ClientMetadata,
  | 'redirect_uris'
  | 'post_logout_redirect_uris'
  | 'token_endpoint_auth_method'
  | 'jwks'
  | 'jwks_uri'
  | 'token_endpoint_auth_signing_alg'
  | 'grant_types'
  | 'response_types'
  | 'scope'
>;

function readDescription(members: MetadataMembers): Description {
  const read = {
    client_name: members.name('client_name', 256),
    client_uri: members.httpsUrl('client_uri'),
    logo_uri: members.httpsUrl('logo_uri'),
    tos_uri: members.httpsUrl('tos_uri'),
    policy_uri: members.httpsUrl('policy_uri'),
    software_id: members.printable('software_id', 256),
    software_version: members.printable('software_version', 256),
    application_type: members.oneOf('application_type', ['native', 'web']),
  };
  return Object.fromEntries(Object.entries(read).filter(([, value]) => value !== undefined));
}
