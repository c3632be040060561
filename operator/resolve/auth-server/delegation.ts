import { delegationProblems } from '../../../gateway/authserver/config/delegation-problems.ts';
import type { EmbeddedAuthServerConfig } from '../../../gateway/contract/run-config/auth-server.ts';
import type { Scope } from '../scope.ts';
import { fieldOf } from './field-of.ts';
import { AUTH_SERVER_PATH, type AuthServerSpec } from './spec.ts';

type Resolved = Pick<EmbeddedAuthServerConfig, 'delegate_clients'>;
type Bounds = Pick<EmbeddedAuthServerConfig, 'allowed_audiences' | 'scopes_supported'>;

/** Resolves the clients that obtain tokens for users, and checks them against what this server issues. */
export function resolveDelegation(server: AuthServerSpec, issued: Bounds, scope: Scope): Resolved {
  const resolved = clientsOf(server, scope);
  const { allowed_audiences: audiences, scopes_supported: scopes = [] } = issued;
  if (!audiences) return resolved; // the missing audience is a problem itself
  for (const problem of delegationProblems(resolved, { audiences, scopes })) {
    scope.on(scope.vmcp).problem(problem.reason, `${AUTH_SERVER_PATH}.${fieldOf(problem.path)}`, problem.message);
  }
  return resolved;
}

function clientsOf({ delegateClients: clients = [] }: AuthServerSpec, scope: Scope): Resolved {
  if (clients.length === 0) return {};
  return {
    delegate_clients: clients.map(({ clientId, clientSecretRef: { name, key }, audiences, scopes }) => ({
      client_id: clientId,
      client_secret_file: scope.mount('Secret', name, key),
      audiences,
      scopes,
    })),
  };
}
