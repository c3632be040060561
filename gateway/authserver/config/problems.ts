import type { GatewayConfig } from '../../contract/gateway-config.ts';
import type { Problem } from '../../contract/problem.ts';
import type { EmbeddedAuthServerConfig } from '../../contract/run-config-auth-server.ts';
import { readStorage } from '../storage/index.ts';
import { addressProblems } from './address-problems.ts';
import { boundaryProblems } from './boundary-problems.ts';
import { clientProblems } from './client-problems.ts';
import { keyProblems } from './key-problems.ts';
import { below } from './problem.ts';
import { providerProblems } from './provider-problems.ts';

/** What the schema cannot say of `embedded_auth_server_config`, and of what it must fit. */
export function authServerProblems(given: GatewayConfig): Problem[] {
  const { embedded_auth_server_config: config } = given;
  if (!config) return [];
  const own = [
    ...addressProblems(config),
    ...keyProblems(config),
    ...providerProblems(config),
    ...clientProblems(config),
    ...storageProblems(config),
  ];
  return [...below('embedded_auth_server_config', own), ...boundaryProblems(given, config)];
}

function storageProblems({ storage = {} }: EmbeddedAuthServerConfig): Problem[] {
  const read = readStorage(storage);
  return 'problems' in read ? below('storage', read.problems) : [];
}
