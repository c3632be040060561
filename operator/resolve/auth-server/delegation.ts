import { delegationProblems } from '../../../gateway/authserver/trust/delegation-problems.ts';
import type { EmbeddedAuthServerConfig } from '../../../gateway/contract/run-config/auth-server.ts';
import type { Scope } from '../scope.ts';
import { checkUserUrl } from '../user-url.ts';
import { fieldOf } from './field-of.ts';
import { isOwnAddress } from './own-address.ts';
import { AUTH_SERVER_PATH, type AuthServerSpec } from './spec.ts';

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
  checkUserUrl(url, { path, block, flags, mode: scope.platform.mode }, scope.on(scope.vmcp));
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
