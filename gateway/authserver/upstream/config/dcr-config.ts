import type { Problem } from '../../../contract/problem.ts';
import { invalid, problem } from '../../../contract/problem.ts';
import type { ProviderConfig } from '../../../contract/run-config/upstreams.ts';
import { urlProblems } from '../../../contract/url-problems.ts';

/** Lists the problems of a client that is registered dynamically. `hasDiscovery`: the issuer leads to the registration endpoint. */
export function dcrProblems(given: ProviderConfig, hasDiscovery: boolean): Problem[] {
  const { dcr_config: dcr, client_id: clientId, client_secret_file: file, client_secret_env_var: variable } = given;
  if (!dcr) return [];
  const { private_key_jwt: key } = given;
  const { discovery_url: discovery, registration_endpoint: endpoint } = dcr;
  const addresses = { discovery_url: discovery, registration_endpoint: endpoint };
  return [
    ...(clientId === undefined ? [] : [invalid('dcr_config', 'set client_id or dcr_config, not both')]),
    ...(file === undefined && variable === undefined
      ? []
      : [invalid('dcr_config', 'a registered client gets its secret from the provider: remove the client secret')]),
    ...(key ? [invalid('dcr_config', 'a registered client has no private key: remove private_key_jwt')] : []),
    ...(!hasDiscovery && (discovery === undefined) === (endpoint === undefined)
      ? [problem('RuleViolated', 'dcr_config', 'set exactly one of discovery_url and registration_endpoint')]
      : []),
    ...Object.entries(addresses).flatMap(([member, url]) =>
      url === undefined ? [] : urlProblems(url, `dcr_config.${member}`, given.insecure_allow_http === true),
    ),
  ];
}
