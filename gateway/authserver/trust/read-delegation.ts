import { durationMs } from '../../contract/fields.ts';
import type { EmbeddedAuthServerConfig } from '../../contract/run-config/auth-server.ts';
import type { AssertionRules, DelegateClient, DelegationSettings, ExchangeRules, TrustedIssuer } from '../settings.ts';

type Config = Pick<EmbeddedAuthServerConfig, 'delegate_clients' | 'trusted_issuers'>;
type Client = NonNullable<Config['delegate_clients']>[number];
type Issuer = NonNullable<Config['trusted_issuers']>[number];

/** Reads the settings from a configuration without problems. Returns undefined if only logins give tokens. */
export function readDelegation({ delegate_clients: clients = [], trusted_issuers: issuers = [] }: Config) {
  if (clients.length + issuers.length === 0) return undefined;
  return { clients: clients.map(clientOf), issuers: issuers.map(issuerOf) } satisfies DelegationSettings;
}

const clientOf = ({
  client_id: id = '',
  client_secret_file: file = '',
  audiences,
  scopes,
}: Client): DelegateClient => ({
  clientId: id,
  secretFile: file,
  audiences: audiences ?? [],
  scopes: scopes ?? [],
});

const issuerOf = (issuer: Issuer): TrustedIssuer => ({
  url: issuer.issuer_url ?? '',
  jwksUrl: issuer.jwks_url,
  allowPrivateIPs: issuer.allow_private_ips === true,
  insecureAllowHTTP: issuer.insecure_allow_http === true,
  exchange: exchangeOf(issuer),
  assertions: issuer.jwt_bearer_grant && assertionsOf(issuer.jwt_bearer_grant),
});

function exchangeOf({
  expected_audience: audience,
  allowed_delegate_clients: clients = [],
  actor_matcher: pattern,
  ...rules
}: Issuer): ExchangeRules | undefined {
  if (audience === undefined || clients.length === 0) return undefined;
  return {
    audience,
    clients,
    actors: rules.allowed_actors,
    actorClaim: rules.actor_claim,
    actorMatcher: pattern === undefined ? undefined : actorPattern(pattern),
    allowMayAct: rules.allow_may_act === true,
  };
}

const assertionsOf = (grant: NonNullable<Issuer['jwt_bearer_grant']>): AssertionRules => ({
  maxAgeMs: durationMs(grant.max_assertion_age ?? '0s'),
  audiences: grant.accepted_audiences,
  subjects: (grant.subject_bindings ?? []).map(({ subject = '', allowed_resources: resources }) => ({
    subject,
    resources,
  })),
});

/** Returns the expression for the whole name of an actor. Throws a SyntaxError. */
export const actorPattern = (pattern: string): RegExp => new RegExp(`^(?:${pattern})$`, 'u');
