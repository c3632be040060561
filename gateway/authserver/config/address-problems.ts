import { baseUrlFault, redirectUriFaults } from '../../contract/auth-server-addresses.ts';
import { invalid, missing, problem, type Problem } from '../../contract/problem.ts';
import { isEncrypted } from '../../contract/rule.ts';
import type { EmbeddedAuthServerConfig } from '../../contract/run-config/auth-server.ts';
import { endpointPath, redirectUris, type Endpoint } from '../../contract/paths/auth-server-paths.ts';

/** Checks the server's own URLs and the redirect URIs of the providers. */
export function addressProblems(config: EmbeddedAuthServerConfig): Problem[] {
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
