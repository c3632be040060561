import { baseUrlFault, circular } from '../../../gateway/contract/addresses.ts';
import { describeTokens, type TokenDescription, isPublicUrl } from '../incoming/incoming.ts';
import type { Report, Scope } from '../scope.ts';
import { isOwnAddress, AUTH_SERVER_PATH, type AuthServerSpec, fieldOf } from './spec.ts';
import { delegationProblems } from '../../../gateway/authserver/trust/delegation-problems.ts';
import type { EmbeddedAuthServerConfig } from '../../../gateway/contract/run-config/auth-server.ts';
import { checkUserUrl } from '../addresses.ts';

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
function checkAudience({ audience, resource }: TokenDescription, { vmcp, terms }: Scope, report: Report): void {
  if (audience === undefined) return; // rejected by a rule of the kind
  const { oidcConfigRef: ref, audience: beside } = vmcp.spec.incomingAuth;
  const inRef = ref?.audience !== undefined && beside === undefined;
  const path = ref
    ? `spec.incomingAuth.${inRef ? 'oidcConfigRef.audience' : 'audience'}`
    : 'spec.incomingAuth.oidcConfig.inline.audience';
  if (!isPublicUrl(audience)) {
    const message = `with ${terms.authServer}, the audience must be the public URL of this server: write https://HOST/mcp`;
    report.problem('AudienceMismatch', path, message);
  } else if (resource.url !== undefined && resource.url !== audience) {
    const message = `with ${terms.authServer}, tokens are issued for resourceUrl alone (${resource.url}): make the two equal`;
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
      const message = `with ${scope.terms.authServer}, the gateway has the keys and tokens in process: remove this field`;
      report.warning('NoEffect', `${path}.${member}`, message);
    }
  }
}

type Resolved = Pick<EmbeddedAuthServerConfig, 'delegate_clients' | 'trusted_issuers'>;
type Bounds = Pick<EmbeddedAuthServerConfig, 'allowed_audiences' | 'scopes_supported'>;
type Issuer = NonNullable<AuthServerSpec['trustedIssuers']>[number];

/** Resolves the clients that obtain tokens for users, and the other issuers, and checks them against what this server issues. */
export function resolveDelegation(server: AuthServerSpec, issued: Bounds, scope: Scope): Resolved {
  const { delegateClients: clients = [], trustedIssuers: issuers = [] } = server;
  const resolved: Resolved = {
    ...(clients.length > 0 && { delegate_clients: clients.map((client) => clientOf(client, scope)) }),
    ...(issuers.length > 0 && { trusted_issuers: issuers.map(issuerOf) }),
  };
  issuers.forEach((issuer, index) => {
    checkAddress(issuer, `${AUTH_SERVER_PATH}.trustedIssuers[${String(index)}]`, scope);
  });
  const { allowed_audiences: audiences, scopes_supported: scopes = [] } = issued;
  if (!audiences) return resolved; // the missing audience is a problem itself
  for (const problem of delegationProblems(resolved, { own: server, audiences, scopes })) {
    scope.on(scope.vmcp).problem(problem.reason, `${AUTH_SERVER_PATH}.${fieldOf(problem.path)}`, problem.message);
  }
  return resolved;
}

/** Checks the address from which the keys are fetched. */
function checkAddress({ issuerUrl, jwksUrl, ...flags }: Issuer, block: string, scope: Scope): void {
  const url = jwksUrl ?? issuerUrl;
  if (isOwnAddress(url, scope)) return; // reported by delegationProblems
  const path = `${block}.${jwksUrl === undefined ? 'issuerUrl' : 'jwksUrl'}`;
  const shown = scope.terms.field(block);
  checkUserUrl(url, { path, block: shown, flags, mode: scope.platform.mode }, scope.on(scope.vmcp));
}

const clientOf = (
  {
    clientId,
    clientSecretRef: { name, key },
    audiences,
    scopes,
  }: NonNullable<AuthServerSpec['delegateClients']>[number],
  scope: Scope,
) => ({
  client_id: clientId,
  client_secret_file: scope.mount('Secret', name, key),
  audiences,
  scopes,
});

const issuerOf = (issuer: Issuer) => ({
  issuer_url: issuer.issuerUrl,
  ...(issuer.jwksUrl !== undefined && { jwks_url: issuer.jwksUrl }),
  ...(issuer.expectedAudience !== undefined && { expected_audience: issuer.expectedAudience }),
  ...(issuer.allowedDelegateClients && { allowed_delegate_clients: issuer.allowedDelegateClients }),
  ...(issuer.allowedActors && { allowed_actors: issuer.allowedActors }),
  ...(issuer.actorClaim !== undefined && { actor_claim: issuer.actorClaim }),
  ...(issuer.actorMatcher !== undefined && { actor_matcher: issuer.actorMatcher }),
  ...(issuer.allowMayAct === true && { allow_may_act: true }),
  ...(issuer.allowPrivateIPs === true && { allow_private_ips: true }),
  ...(issuer.insecureAllowHTTP === true && { insecure_allow_http: true }),
  ...(issuer.jwtBearerGrant && { jwt_bearer_grant: grantOf(issuer.jwtBearerGrant) }),
});

const grantOf = (grant: NonNullable<Issuer['jwtBearerGrant']>) => ({
  max_assertion_age: grant.maxAssertionAge,
  subject_bindings: grant.subjectBindings.map(({ subject, allowedResources }) => ({
    subject,
    ...(allowedResources && { allowed_resources: allowedResources }),
  })),
  ...(grant.acceptedAudiences && { accepted_audiences: grant.acceptedAudiences }),
});
