import { asksForNothing } from '../../../contract/json.ts';
import type { Problem } from '../../../contract/problem.ts';
import type { RunConfig } from '../../../contract/run-config/run-config.ts';

export type Member = keyof RunConfig;

export const invalid = (path: string, message: string): Problem => ({ reason: 'InvalidValue', path, message });

const notSupported = (path: string, message: string): Problem => ({ reason: 'NotSupportedYet', path, message });

/** Values of `host` that ask for nothing: the defaults of local mode and of pods. */
const ANY_HOST: ReadonlySet<string> = new Set(['', '127.0.0.1', '0.0.0.0']);

/** Members that both kinds have or that ask for nothing, checked in `commonProblems`. */
const COMMON: readonly Member[] = [
  'schema_version',
  'name',
  'base_name',
  'container_name',
  'group',
  'host',
  'transport',
  'proxy_mode',
];

/** Advice for members that no kind can express; "remove it" for others. */
const INSTEAD: Partial<Record<Member, string>> = {
  isolate_network: 'restrict the pods with a NetworkPolicy, and set it to false',
  oidc_config: 'set incomingAuth of the VirtualMCPServer that serves the group',
  remote_auth_config: 'create an MCPExternalAuthConfig and refer to it with kubectl',
  token_exchange_config: 'create an MCPExternalAuthConfig and refer to it with kubectl',
  upstream_swap_config: 'create an MCPExternalAuthConfig and refer to it with kubectl',
  embedded_auth_server_config: 'set authServerConfig of the VirtualMCPServer that serves the group',
  authz_config: 'set incomingAuth.authzConfig of the VirtualMCPServer that serves the group',
  authz_config_path: 'set incomingAuth.authzConfig of the VirtualMCPServer that serves the group',
  rate_limit_config: 'set config.rateLimiting of the VirtualMCPServer that serves the group',
  rate_limit_namespace: 'set config.rateLimiting of the VirtualMCPServer that serves the group',
  telemetry_config: 'set telemetryConfigRef of the VirtualMCPServer that serves the group',
  mutating_webhooks: 'set webhookConfigRef of the VirtualMCPServer that serves the group',
  validating_webhooks: 'set webhookConfigRef of the VirtualMCPServer that serves the group',
  tools_filter: 'set config.aggregation.tools of the VirtualMCPServer that serves the group',
  tools_override: 'set config.aggregation.tools of the VirtualMCPServer that serves the group',
  cli_ca_bundle: 'set caBundleRef of the MCPServerEntry with kubectl',
};

/** Lists the members that an object of a kind cannot hold. Nothing is dropped silently. */
export const unsupportedMembers = (config: RunConfig, supported: readonly Member[], what: string): Problem[] =>
  (Object.keys(config) as Member[])
    .filter((member) => ![...COMMON, ...supported].includes(member) && !asksForNothing(config[member]))
    .map((member) => notSupported(member, `${what} cannot have it: ${INSTEAD[member] ?? 'remove it'}`));

/** Checks the members of both kinds that no field of an object holds. */
export function commonProblems(config: RunConfig): Problem[] {
  const { name, host = '', transport, proxy_mode: mode = '' } = config;
  const problems = (['base_name', 'container_name'] as const)
    .filter((member) => ![undefined, '', name].includes(config[member]))
    .map((member) => notSupported(member, 'a workload of a cluster has one name: remove it'));
  if (!ANY_HOST.has(host))
    problems.push(notSupported('host', 'pods listen on all of their addresses: remove it, or set 127.0.0.1'));
  if (transport !== 'stdio' && mode !== '' && mode !== transport)
    problems.push(invalid('proxy_mode', 'only a stdio server can have another transport for clients: remove it'));
  return problems;
}
