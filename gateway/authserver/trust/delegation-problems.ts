import { invalid, missing, problem, repeated, type Problem } from '../../contract/problem.ts';
import type { EmbeddedAuthServerConfig } from '../../contract/run-config/auth-server.ts';
import type { LoginAddresses } from '../../contract/auth-server-addresses.ts';
import { trustedIssuerProblems } from './trusted-issuer-problems.ts';

const MAX_CLIENTS = 10;

/** Addresses of this server, and values for which it issues tokens. */
export interface DelegationBounds {
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
