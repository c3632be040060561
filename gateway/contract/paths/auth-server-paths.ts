import type { EmbeddedAuthServerConfig } from '../run-config/auth-server.ts';

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
export interface AuthServerPaths {
  /** Paths of single documents and pages. */
  readonly exact: readonly string[];
  /** Folders of which everything is public. */
  readonly below: readonly string[];
}

/** Returns the paths that clients and browsers request. */
export function authServerPaths(config: EmbeddedAuthServerConfig): AuthServerPaths {
  const { issuer, authorization_endpoint_base_url: base = issuer } = config;
  if (issuer === undefined || base === undefined) return { exact: [], below: [] };
  const below = [...new Set([issuer, base].map((url) => pathOf(url) + FOLDER))];
  const callbacks = redirectUris(config)
    .flatMap((uri) => (uri === undefined ? [] : [new URL(uri).pathname]))
    .filter((path) => !below.some((folder) => path.startsWith(`${folder}/`)));
  return { exact: [...new Set([...metadataPaths(issuer), endpointPath('jwks', issuer), ...callbacks])], below };
}
