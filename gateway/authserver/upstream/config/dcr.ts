import type { DcrConfig, ProviderConfig } from '../../../contract/run-config/upstreams.ts';
import { text } from '../../../contract/optional.ts';
import { secretKeyRef } from '../../../contract/references.ts';
import { atMostOne, exactlyOne, type Rule } from '../../../contract/rule.ts';
import type { UpstreamScope } from '../upstream.ts';
import { credentialRules } from './provider-config.ts';
import { invalid, problem, type Problem } from '../../../contract/problem.ts';
import { urlProblems } from '../../../contract/addresses.ts';

/** http is for providers on this machine, in local mode. */
export const dcrUrl = (description: string) =>
  text(description, {
    pattern: '^(https://|http://(localhost|127\\.0\\.0\\.1|\\[::1\\])[:/])[^\\s?#]*[^/\\s?#]$',
    maxLength: 2048,
  });

export const REGISTRATION = 'Dynamic client registration (RFC 7591) at the provider, in place of `clientId`.';

/** Fields of `dcrConfig` of every type of provider. */
export const registrationSpec = {
  registrationEndpoint: dcrUrl('Registration endpoint. That of the metadata when absent.'),
  initialAccessTokenRef: secretKeyRef('Initial access token for the registration.'),
  softwareId: text('`software_id` parameter of the registration.', { maxLength: 255 }),
  softwareStatement: text('`software_statement` parameter of the registration.', { maxLength: 16384 }),
};

/** Rules of a client that is configured or registered. */
export const clientRules: readonly Rule[] = [
  exactlyOne('', 'clientId', 'dcrConfig'),
  atMostOne('', 'dcrConfig', 'clientSecretRef'),
  atMostOne('', 'dcrConfig', 'privateKeyJwt'),
  ...credentialRules,
];

interface Registration {
  readonly discoveryUrl?: string;
  readonly registrationEndpoint?: string;
  readonly initialAccessTokenRef?: { readonly name: string; readonly key: string };
  readonly softwareId?: string;
  readonly softwareStatement?: string;
}

export function resolveDcr(
  { discoveryUrl, registrationEndpoint, initialAccessTokenRef: token, softwareId, softwareStatement }: Registration,
  flags: Parameters<UpstreamScope['checkUrl']>[2],
  scope: UpstreamScope,
): DcrConfig {
  if (discoveryUrl !== undefined) scope.checkUrl(discoveryUrl, 'dcrConfig.discoveryUrl', flags);
  if (registrationEndpoint !== undefined) scope.checkUrl(registrationEndpoint, 'dcrConfig.registrationEndpoint', flags);
  return {
    ...(discoveryUrl !== undefined && { discovery_url: discoveryUrl }),
    ...(registrationEndpoint !== undefined && { registration_endpoint: registrationEndpoint }),
    ...(token && { initial_access_token_file: scope.secretFile(token) }),
    ...(softwareId !== undefined && { software_id: softwareId }),
    ...(softwareStatement !== undefined && { software_statement: softwareStatement }),
  };
}

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
