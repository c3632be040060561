import { Closed } from '../contract/fields.ts';
import type { GatewayConfig, Incoming } from '../contract/gateway-config.ts';
import { problem, type Problem } from '../contract/problem.ts';
import { defineMode } from './mode.ts';

const PATH = 'vmcp.incoming';

/** Members of `vmcp.incoming` that have no effect without users. */
const ACCESS_CONTROL = [
  'source',
  'required_scopes',
  'clock_skew_seconds',
  'require_client_id',
  'introspection',
  'service_account',
  'namespace',
  'use_cluster_auth',
] as const satisfies readonly (keyof Incoming)[];

/** Accepts every client: no credentials, no access control. */
export const anonymous = defineMode({
  type: 'anonymous',
  description: 'clients are not authenticated, for development only.',
  hasUsers: false,
  spec: undefined,
  config: Closed({}),
  resolve: () => ({}),
  check: anonymousProblems,
  create: () => undefined,
});

function anonymousProblems({ vmcp: { incoming }, oidc_config: oidc }: GatewayConfig): Problem[] {
  const refuse = (path: string): Problem =>
    problem(
      'RuleViolated',
      path,
      `when ${PATH}.type is anonymous, clients are not authenticated and ${path} has no effect: set type to oidc, or remove it`,
    );
  const set = ACCESS_CONTROL.filter((member) => incoming[member] !== undefined);
  return [...(oidc ? ['oidc_config'] : []), ...set.map((member) => `${PATH}.${member}`)].map(refuse);
}
