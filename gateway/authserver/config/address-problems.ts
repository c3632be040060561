import { baseUrlFault, redirectUriFaults } from '../../contract/auth-server-addresses.ts';
import type { Problem } from '../../contract/problem.ts';
import { isEncrypted } from '../../contract/rule.ts';
import type { EmbeddedAuthServerConfig } from '../../contract/run-config-auth-server.ts';
import { redirectUris } from '../read-settings.ts';
import { missing, problem } from './problem.ts';

/** The server's own URLs, and where providers send browsers back to. */
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
  return redirectUriFaults({ issuer, authorizationEndpointBaseUrl }, redirectUris(config)).flatMap((fault, index) => {
    if (fault === undefined) return [];
    const block = upstreams[index]?.oauth2_config ? 'oauth2_config' : 'oidc_config';
    return [problem('RedirectOriginMismatch', `upstreams[${String(index)}].${block}.redirect_uri`, fault)];
  });
}
