import type { GatewayConfig } from '../../contract/gateway-config.ts';
import { below, invalid, repeated, type Problem } from '../../contract/problem.ts';
import type { EmbeddedAuthServerConfig } from '../../contract/run-config/auth-server.ts';
import { audiencesOf, scopesOf } from '../read-settings.ts';
import { lifespansOf } from '../core/lifespans.ts';
import { signingKeyFiles } from '../keys/key-files.ts';
import { readStorage } from '../storage/index.ts';
import { addressProblems } from './address-problems.ts';
import { boundaryProblems } from './boundary-problems.ts';
import { clientProblems } from './client-problems.ts';
import { delegationProblems } from '../trust/delegation-problems.ts';
import { providerProblems } from './provider-problems.ts';

const MAX_SECRETS = 5;

/** Checks the rules for `embedded_auth_server_config` that its schema cannot express. */
export function authServerProblems(given: GatewayConfig): Problem[] {
  const { embedded_auth_server_config: config } = given;
  if (!config) return [];
  const own = [
    ...addressProblems(config),
    ...keyProblems(config),
    ...providerProblems(config),
    ...clientProblems(config),
    ...delegationProblems(config, boundsOf(given, config)),
    ...storageProblems(config),
  ];
  return [...below('embedded_auth_server_config', own), ...boundaryProblems(given, config)];
}

const boundsOf = ({ oidc_config: oidc }: GatewayConfig, config: EmbeddedAuthServerConfig) => ({
  own: {
    issuer: config.issuer ?? '',
    authorizationEndpointBaseUrl: config.authorization_endpoint_base_url,
  },
  audiences: audiencesOf(config, oidc),
  scopes: scopesOf(config),
});

function storageProblems({ storage = {} }: EmbeddedAuthServerConfig): Problem[] {
  const read = readStorage(storage);
  return 'problems' in read ? below('storage', read.problems) : [];
}

/** Checks the lifetimes of tokens and the keys that sign them. */
const keyProblems = (config: EmbeddedAuthServerConfig): Problem[] => [
  ...lifespansOf(config.token_lifespans).problems,
  ...signingKeyFiles(config.signing_key_config).problems,
  ...secretProblems(config.hmac_secret_files ?? []),
];

function secretProblems(files: readonly string[]): Problem[] {
  const path = 'hmac_secret_files';
  return [
    ...(files.length > MAX_SECRETS ? [invalid(path, `use at most ${String(MAX_SECRETS)} secrets`)] : []),
    ...(files.includes('') ? [invalid(`${path}[${String(files.indexOf(''))}]`, 'name a file')] : []),
    ...repeated(files, path, 'name every secret once'),
  ];
}
