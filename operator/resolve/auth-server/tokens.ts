import { baseUrlFault, circular } from '../../../gateway/contract/addresses.ts';
import { describeTokens, type TokenDescription } from '../incoming/oidc.ts';
import { isPublicUrl } from '../incoming/resource-url.ts';
import type { Report, Scope } from '../scope.ts';
import { isOwnAddress } from './own-address.ts';
import { AUTH_SERVER_PATH, type AuthServerSpec } from './spec.ts';

/** Checks that this server accepts the tokens that its authorization server issues. */
export function checkTokens(server: AuthServerSpec, scope: Scope): void {
  const report = scope.on(scope.vmcp);
  checkBaseUrls(server, report);
  const tokens = describeTokens(scope);
  if (!tokens) return;
  checkIssuer(server, tokens, report);
  checkAudience(tokens, scope, report);
  checkKeys(tokens, scope);
}

function checkBaseUrls(server: AuthServerSpec, report: Report): void {
  for (const member of ['issuer', 'authorizationEndpointBaseUrl'] as const) {
    const fault = server[member] === undefined ? undefined : baseUrlFault(server[member]);
    if (fault) report.problem(fault.reason, `${AUTH_SERVER_PATH}.${member}`, fault.message);
  }
}

/** Checks the issuer of a referenced MCPOIDCConfig. For an inline config a rule of the kind does. */
function checkIssuer({ issuer }: AuthServerSpec, { owner, source, spec }: TokenDescription, report: Report): void {
  if (owner.kind !== 'MCPOIDCConfig') return;
  const { name } = owner.metadata;
  if (source !== 'inline') {
    const message = `MCPOIDCConfig "${name}" accepts service account tokens, which the embedded authorization server does not issue: refer to one of type inline with issuer ${issuer}`;
    report.problem('IssuerMismatch', 'spec.incomingAuth.oidcConfigRef.name', message);
    return;
  }
  const { issuer: accepted } = spec as { readonly issuer?: string };
  if (accepted === issuer) return;
  const message = `MCPOIDCConfig "${name}" accepts tokens of ${String(accepted)} only: make the two issuers equal, character by character; both are the URL of the gateway, not that of an identity provider`;
  report.problem('IssuerMismatch', `${AUTH_SERVER_PATH}.issuer`, message);
}

/** Checks that the audience is exactly the URL for which the embedded server issues tokens. */
function checkAudience({ audience, resource }: TokenDescription, { vmcp }: Scope, report: Report): void {
  if (audience === undefined) return; // rejected by a rule of the kind
  const { oidcConfigRef: ref, audience: beside } = vmcp.spec.incomingAuth;
  const inRef = ref?.audience !== undefined && beside === undefined;
  const path = ref
    ? `spec.incomingAuth.${inRef ? 'oidcConfigRef.audience' : 'audience'}`
    : 'spec.incomingAuth.oidcConfig.inline.audience';
  if (!isPublicUrl(audience)) {
    const message = 'with authServerConfig, the audience must be the public URL of this server: write https://HOST/mcp';
    report.problem('AudienceMismatch', path, message);
  } else if (resource.url !== undefined && resource.url !== audience) {
    const message = `with authServerConfig, tokens are issued for resourceUrl alone (${resource.url}): make the two equal`;
    report.problem('AudienceMismatch', path, message);
  }
}

/** Reports URLs for keys and introspection, which the embedded server does not need: its keys are in process. */
function checkKeys({ owner, path, spec }: TokenDescription, scope: Scope): void {
  const report = scope.on(owner);
  const urls = spec as Readonly<Record<string, unknown>>;
  for (const member of ['jwksUrl', 'introspectionUrl']) {
    const url = urls[member];
    if (typeof url !== 'string') continue;
    if (isOwnAddress(url, scope)) {
      report.problem('CircularAddress', `${path}.${member}`, circular('remove this field'));
    } else {
      const message = 'with authServerConfig, the gateway has the keys and tokens in process: remove this field';
      report.warning('NoEffect', `${path}.${member}`, message);
    }
  }
}
