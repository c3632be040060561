import type { GatewayConfig } from '../gateway-config.ts';
import type { EmbeddedAuthServerConfig } from '../run-config/auth-server.ts';

/** Paths of a virtual server in the URLs of its clients. */
export interface PublicPaths {
  /** Path in front of the paths of the gateway, without a slash at its end; empty at the root of a host. */
  readonly prefix: string;
  /** Path of the MCP endpoint. */
  readonly mcp: string;
}

/** Path of the MCP endpoint at the gateway. */
export const MCP_PATH = '/mcp';

/** Path that a proxy can have in front of those of the gateway. Documents below `/.well-known/` belong to the whole host. */
const PREFIX = /^(?!\/\.well-known(?:\/|$))(?:\/[\w.~-]+)+$/u;

/** Returns a prefix without the slash at its end; empty for a text that is no prefix. */
export function prefixOf(text: string): string {
  const prefix = text.replace(/\/$/u, '');
  return PREFIX.test(prefix) ? prefix : '';
}

/** Returns the public paths: those below the configured prefix, else those of the resource URL. */
export function publicPathsOf({
  endpoint_prefix: configured,
  oidc_config: oidc,
}: Pick<GatewayConfig, 'endpoint_prefix' | 'oidc_config'>): PublicPaths {
  if (configured !== undefined) return at(prefixOf(configured));
  const resource = prefixOf(URL.parse(oidc?.resourceURL ?? '')?.pathname ?? '');
  if (resource.endsWith(MCP_PATH)) return at(resource.slice(0, -MCP_PATH.length));
  return { prefix: '', mcp: resource === '' ? MCP_PATH : resource };
}

const at = (prefix: string): PublicPaths => ({ prefix, mcp: prefix + MCP_PATH });

/** Returns true if the page about the virtual server is in the folder of the MCP endpoint, so that `./` leads to it. */
export const pageIsNextToMcp = ({ prefix, mcp }: PublicPaths): boolean => mcp === prefix + MCP_PATH;

/**
 * Returns the target of a request at the gateway. A proxy in front may have removed the prefix or kept it, so both spellings
 * mean the same.
 */
export function targetAtGateway(url: string, { prefix, mcp }: PublicPaths): string {
  const rest = after(mcp, url);
  if (rest !== undefined && !/^\/[^?]/u.test(rest)) return MCP_PATH + rest;
  const below = prefix === '' ? undefined : after(prefix, url);
  if (below === undefined) return url;
  return below.startsWith('/') ? below : `/${below}`;
}

/** Returns the target after a path; undefined unless it is that path or one below it. */
function after(path: string, url: string): string | undefined {
  if (!url.startsWith(path)) return undefined;
  const rest = url.slice(path.length);
  return rest === '' || rest.startsWith('/') || rest.startsWith('?') ? rest : undefined;
}

/** Well-known path of the metadata of a protected resource. */
export const RESOURCE_METADATA = '/.well-known/oauth-protected-resource';

/** Returns the path and query of the metadata of a resource. @see RFC 9728 §3.1 */
export function resourceMetadataPath(resource: string): string {
  const { pathname, search } = new URL(resource);
  return RESOURCE_METADATA + (pathname === '/' ? '' : pathname) + search;
}

/** Paths that a proxy has to pass on. */
export interface RoutedPaths extends AuthServerPaths {
  /** Paths of the MCP transports, whose responses may be endless streams. */
  readonly streams: readonly string[];
}

/** Returns all paths of a virtual server that are public: MCP, its page, metadata documents, and the authorization server. */
export function routedPaths(config: GatewayConfig): RoutedPaths {
  const { prefix, mcp } = publicPathsOf(config);
  const { oidc_config: oidc, embedded_auth_server_config: authServer } = config;
  const { exact, below } = authServer ? authServerPaths(authServer) : { exact: [], below: [] };
  const suffix = URL.parse(oidc?.resourceURL ?? '')?.pathname.replace(/\/$/u, '') ?? mcp;
  // The document without a suffix belongs to a server at the root of its host.
  const metadata = suffix === MCP_PATH && prefix === '' ? RESOURCE_METADATA : RESOURCE_METADATA + suffix;
  return {
    streams: [mcp, `${prefix}/sse`, `${prefix}/messages`],
    exact: [...(prefix === '' ? [] : [prefix]), `${prefix}/`, ...exact],
    below: [...(oidc ? [metadata] : []), ...below],
  };
}

/** Paths of the endpoints of an authorization server, below the path of its issuer. */
export const ENDPOINT_PATHS = {
  authorize: '/oauth/authorize',
  consent: '/oauth/consent',
  token: '/oauth/token',
  register: '/oauth/register',
  revoke: '/oauth/revoke',
  introspect: '/oauth/introspect',
  userinfo: '/oauth/userinfo',
  logout: '/oauth/logout',
  jwks: '/.well-known/jwks.json',
} as const;

export type Endpoint = keyof typeof ENDPOINT_PATHS;

/** Folder of the endpoints that are no documents. */
const FOLDER = '/oauth';

const pathOf = (url: string): string => new URL(url).pathname.replace(/\/$/, '');

/** Returns the path of an endpoint, including the path of the issuer. */
export const endpointPath = (endpoint: Endpoint, issuer: string): string =>
  `${pathOf(issuer)}${ENDPOINT_PATHS[endpoint]}`;

/** Returns the paths of the metadata document: with the well-known part before and after the path of the issuer. @see RFC 8414 §3.1, OIDC Discovery §4 */
export function metadataPaths(issuer: string): readonly string[] {
  const path = pathOf(issuer);
  const names = ['oauth-authorization-server', 'openid-configuration'];
  return [...new Set(names.flatMap((name) => [`/.well-known/${name}${path}`, `${path}/.well-known/${name}`]))];
}

/** Returns the redirect URI of each provider, or undefined if it is the server's own callback. */
export const redirectUris = ({ upstreams = [] }: EmbeddedAuthServerConfig): (string | undefined)[] =>
  upstreams.map(({ oauth2_config, oidc_config }) => (oauth2_config ?? oidc_config)?.redirect_uri);

/** Public paths of an authorization server. */
interface AuthServerPaths {
  /** Paths of single documents and pages. */
  readonly exact: readonly string[];
  /** Folders of which everything is public. */
  readonly below: readonly string[];
}

/** Returns the paths that clients and browsers request. */
function authServerPaths(config: EmbeddedAuthServerConfig): AuthServerPaths {
  const { issuer, authorization_endpoint_base_url: base = issuer } = config;
  if (issuer === undefined || base === undefined) return { exact: [], below: [] };
  const below = [...new Set([issuer, base].map((url) => pathOf(url) + FOLDER))];
  const callbacks = redirectUris(config)
    .flatMap((uri) => (uri === undefined ? [] : [new URL(uri).pathname]))
    .filter((path) => !below.some((folder) => path.startsWith(`${folder}/`)));
  return { exact: [...new Set([...metadataPaths(issuer), endpointPath('jwks', issuer), ...callbacks])], below };
}
