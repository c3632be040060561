import type { GatewayConfig } from '../../contract/gateway-config.ts';
import { problem, type Problem } from '../../contract/problem.ts';
import type { EmbeddedAuthServerConfig } from '../../contract/run-config/auth-server.ts';
import { acceptsAuthServer } from '../../incoming/index.ts';
import { audiencesOf, scopesOf } from '../read-settings.ts';

const AUDIENCES = 'embedded_auth_server_config.allowed_audiences';

/** Checks that the incoming boundary accepts the issued tokens. Paths start at the root of the document. */
export function boundaryProblems(given: GatewayConfig, config: EmbeddedAuthServerConfig): Problem[] {
  const { incoming } = given.vmcp;
  if (!acceptsAuthServer(incoming.type)) {
    const message =
      'embedded_auth_server_config is for servers that ask for its tokens: set type to oidc, or remove it';
    return [problem('RuleViolated', 'vmcp.incoming.type', message)];
  }
  return [
    ...issuerProblems(given, config),
    ...audiencesOf(config, given.oidc_config).flatMap((audience) => audienceProblems(audience, config)),
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
  if (audiencesOf(config, oidc).includes(audience)) return [];
  const message = `no token is issued for oidc_config.audience (${audience}): add it`;
  return [problem('AudienceMismatch', AUDIENCES, message)];
}

function requiredScopeProblems({ vmcp }: GatewayConfig, config: EmbeddedAuthServerConfig): Problem[] {
  const supported = scopesOf(config);
  return (vmcp.incoming.required_scopes ?? []).flatMap((scope, index) => {
    if (supported.includes(scope)) return [];
    const path = `vmcp.incoming.required_scopes[${String(index)}]`;
    return [problem('RuleViolated', path, `no token can have "${scope}": add it to scopes_supported, or remove it`)];
  });
}
