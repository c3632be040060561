import { below, invalid, missing, problem, repeated, type Problem } from '../../contract/problem.ts';
import type { EmbeddedAuthServerConfig } from '../../contract/run-config/auth-server.ts';
import { circular, isServedBy, type LoginAddresses, urlProblems } from '../../contract/addresses.ts';
import { durationMs } from '../../contract/fields.ts';
import { actorPattern } from './read-delegation.ts';

const MAX_CLIENTS = 10;

/** Addresses of this server, and values for which it issues tokens. */
interface DelegationBounds {
  readonly own: LoginAddresses;
  readonly audiences: readonly string[];
  readonly scopes: readonly string[];
}

type Clients = NonNullable<EmbeddedAuthServerConfig['delegate_clients']>;

/** Checks the clients that exchange tokens, and the other issuers whose tokens are accepted. */
export const delegationProblems = (
  config: Pick<EmbeddedAuthServerConfig, 'delegate_clients' | 'trusted_issuers'>,
  bounds: DelegationBounds,
): Problem[] => [...clientsProblems(config.delegate_clients ?? [], bounds), ...trustedIssuerProblems(config, bounds)];

function clientsProblems(clients: Clients, bounds: DelegationBounds): Problem[] {
  const path = 'delegate_clients';
  return [
    ...(clients.length > MAX_CLIENTS ? [invalid(path, `name at most ${String(MAX_CLIENTS)} clients`)] : []),
    ...repeated(
      clients.map(({ client_id: id }) => id ?? ''),
      path,
      'another client has this id: rename one',
    ),
    ...clients.flatMap((client, index) => clientProblems(client, `${path}[${String(index)}]`, bounds)),
  ];
}

function clientProblems(client: Clients[number], path: string, bounds: DelegationBounds): Problem[] {
  const { client_id: id = '', client_secret_file: file = '', audiences = [], scopes = [] } = client;
  return [
    ...(id === '' ? [missing(`${path}.client_id`, 'set client_id')] : []),
    ...(file === '' ? [missing(`${path}.client_secret_file`, 'set client_secret_file')] : []),
    ...(audiences.length === 0 ? [missing(`${path}.audiences`, 'list the audiences of its tokens')] : []),
    ...(scopes.length === 0 ? [missing(`${path}.scopes`, 'list the scopes of its tokens')] : []),
    ...strangers(audiences, bounds.audiences, `${path}.audiences`, 'audience'),
    ...strangers(scopes, bounds.scopes, `${path}.scopes`, 'scope'),
  ];
}

/** Lists values for which this server issues no tokens. */
const strangers = (values: readonly string[], known: readonly string[], path: string, what: string): Problem[] =>
  values.flatMap((value, index) => {
    if (known.includes(value)) return [];
    const message = `this server has no ${what} "${value}" (it has ${known.join(', ')}): correct it`;
    return [problem('RuleViolated', `${path}[${String(index)}]`, message)];
  });

const MAX_ISSUERS = 20;
const RESERVED_CLAIMS = ['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti'];
const EXCHANGE_MEMBERS = ['expected_audience', 'allowed_actors', 'actor_claim', 'actor_matcher'] as const;

type Config = Pick<EmbeddedAuthServerConfig, 'delegate_clients' | 'trusted_issuers'>;
type Issuer = NonNullable<Config['trusted_issuers']>[number];
type Grant = NonNullable<Issuer['jwt_bearer_grant']>;

/** Facts about this server that the members of a trusted issuer must fit. */
interface Surroundings {
  readonly own: LoginAddresses;
  readonly audiences: readonly string[];
  readonly clients: readonly string[];
}

/** Checks the other issuers whose tokens are accepted. */
function trustedIssuerProblems(
  { trusted_issuers: issuers = [], delegate_clients: clients = [] }: Config,
  around: Omit<Surroundings, 'clients'>,
): Problem[] {
  const path = 'trusted_issuers';
  const facts = { ...around, clients: clients.map(({ client_id: id }) => id ?? '') };
  return [
    ...(issuers.length > MAX_ISSUERS ? [invalid(path, `name at most ${String(MAX_ISSUERS)} issuers`)] : []),
    ...repeated(
      issuers.map(({ issuer_url: url }) => url ?? ''),
      path,
      'this issuer is listed above: write one entry for each',
    ),
    ...issuers.flatMap((issuer, index) => below(`${path}[${String(index)}]`, issuerProblems(issuer, facts))),
  ];
}

const issuerProblems = (issuer: Issuer, facts: Surroundings): Problem[] => [
  ...addressProblems(issuer, facts),
  ...exchangeProblems(issuer, facts),
  ...actorProblems(issuer),
  ...below('jwt_bearer_grant', issuer.jwt_bearer_grant ? grantProblems(issuer.jwt_bearer_grant, facts) : []),
];

function addressProblems(issuer: Issuer, { own }: Surroundings): Problem[] {
  const {
    issuer_url: url,
    jwks_url: keys,
    allow_private_ips: isPrivate,
    insecure_allow_http: insecure = false,
  } = issuer;
  const addresses = Object.entries({ issuer_url: url, jwks_url: keys });
  return [
    ...(url === undefined ? [missing('issuer_url', 'set issuer_url')] : []),
    ...addresses.flatMap(([path, text]) => {
      if (text === undefined) return [];
      if (isServedBy(text, own)) return [problem('CircularAddress', path, circular('remove this issuer'))];
      return urlProblems(text, path, insecure);
    }),
    ...(isPrivate === true && keys === undefined
      ? [problem('RuleViolated', 'allow_private_ips', 'allow_private_ips needs jwks_url')]
      : []),
  ];
}

function exchangeProblems(issuer: Issuer, { clients }: Surroundings): Problem[] {
  const { allowed_delegate_clients: allowed, expected_audience: audience, allow_may_act: honours } = issuer;
  const path = 'allowed_delegate_clients';
  const pure = issuer.jwt_bearer_grant !== undefined && allowed === undefined;
  return [
    ...(audience === undefined && !pure
      ? [missing('expected_audience', 'set expected_audience, or only jwt_bearer_grant')]
      : []),
    ...EXCHANGE_MEMBERS.filter((member) => issuer[member] !== undefined && allowed === undefined).map((member) =>
      problem('RuleViolated', member, `${member} needs ${path}`),
    ),
    ...(allowed?.includes('*') === true && (allowed.length > 1 || honours === true)
      ? [problem('RuleViolated', path, '"*" must be the only entry, and cannot be combined with allow_may_act')]
      : []),
    ...(allowed ?? []).flatMap((id, index) => {
      if (id === '*' || clients.includes(id)) return [];
      const message = `no delegate client has the id "${id}": correct it, or add the client`;
      return [problem('RuleViolated', `${path}[${String(index)}]`, message)];
    }),
  ];
}

function actorProblems({ actor_claim: claim = '', actor_matcher: pattern }: Issuer): Problem[] {
  return [
    ...(RESERVED_CLAIMS.includes(claim)
      ? [problem('RuleViolated', 'actor_claim', 'actor_claim cannot be a registered claim')]
      : []),
    ...(pattern === undefined || isExpression(pattern)
      ? []
      : [invalid('actor_matcher', 'not a regular expression of ECMAScript: correct it')]),
  ];
}

function isExpression(pattern: string): boolean {
  try {
    actorPattern(pattern);
    return true;
  } catch {
    return false;
  }
}

function grantProblems(
  { max_assertion_age: age, subject_bindings: bindings = [] }: Grant,
  { audiences }: Surroundings,
): Problem[] {
  const path = 'subject_bindings';
  return [
    ...(age === undefined ? [missing('max_assertion_age', 'set max_assertion_age')] : []),
    ...(age !== undefined && durationMs(age) < 1_000
      ? [problem('InvalidDuration', 'max_assertion_age', `${age} is too short: use at least 1s`)]
      : []),
    ...(bindings.length === 0 ? [missing(path, 'name the subjects that may use the grant')] : []),
    ...repeated(
      bindings.map(({ subject }) => subject ?? ''),
      path,
      'this subject is listed above: write one entry for each',
    ),
    ...bindings.flatMap(({ subject, allowed_resources: resources = [] }, index) => [
      ...(subject === undefined || subject === '' ? [missing(`${path}[${String(index)}].subject`, 'set subject')] : []),
      ...resources.flatMap((resource, place) => {
        if (audiences.includes(resource)) return [];
        const message = `this server issues no tokens for "${resource}" (only for ${audiences.join(', ')}): correct it`;
        const at = `${path}[${String(index)}].allowed_resources[${String(place)}]`;
        return [problem('RuleViolated', at, message)];
      }),
    ]),
  ];
}
