import type { GatewayConfig } from '../../../gateway/contract/gateway-config.ts';
import type { Identity } from '../../../gateway/contract/identity.ts';
import { Authorizer, type Verdict } from '../../../gateway/policy/authorization/authorizer.ts';
import { requirePolicies } from '../../../gateway/policy/authorization/check.ts';
import { AuthorizationConfig } from '../../../gateway/policy/authorization/config.ts';
import { readDocument } from '../../../gateway/contract/run-config/document.ts';

/** A tool of the declared backends. */
export interface KnownTool {
  readonly name: string;
  /** Undefined for a tool that no backend lists. */
  readonly backend: string | undefined;
  /** JSON text of the tool as clients see it. */
  readonly json: Buffer | undefined;
  /** False for a tool that a rule of the aggregation hides, or another tool of the same name. */
  readonly isVisible: boolean;
}

/** Access of one user to one tool. */
export interface Explanation {
  readonly tool: string;
  readonly backend: string | undefined;
  readonly allowed: boolean;
  /** Policy that decides, or the reason why none does. */
  readonly by: string;
  /** Field that hides the tool from clients. */
  readonly filter: string | undefined;
  /** Strategy of the credential that the backend gets. */
  readonly credential: string;
}

/** Explains the access of a user to tools, with the policies of the gateway. `args` holds the JSON text of each argument. */
export function explainTools(
  config: GatewayConfig,
  tools: readonly KnownTool[],
  identity: Identity,
  args: ReadonlyMap<string, string>,
): Explanation[] {
  const read = config.authz_config && readDocument(AuthorizationConfig, config.authz_config);
  if (read && 'problems' in read) throw new Error('the configuration was not checked');
  const authorizer = read && new Authorizer(read.config, requirePolicies(read.config), config.name ?? '');
  const provider = read?.config.cedar.primary_upstream_provider;
  const principal = authorizer?.principalOf(
    provider === undefined ? identity : { ...identity, upstream: { provider, claims: identity.claims } },
  );
  return tools.map(({ name, backend, json, isVisible }) => {
    const item = { kind: 'tools' as const, name, backend: backend ?? '', json };
    const verdict = authorizer && principal && authorizer.evaluate(principal, item, args);
    const filter = backend === undefined ? 'no backend lists it' : isVisible ? undefined : filterOf(config, backend);
    return {
      tool: name,
      backend,
      allowed: (verdict?.allowed ?? true) && filter === undefined,
      by: verdict ? reasonOf(verdict) : 'no policy is configured',
      filter,
      credential: credentialOf(config, backend),
    };
  });
}

/** Any policy that cannot be evaluated denies. */
function reasonOf({ allowed, policies, errors }: Verdict): string {
  if (errors.length > 0) return `error: ${errors.join('; ')}`;
  if (policies.length > 0) return `${allowed ? 'permit' : 'forbid'} ${policies.join(', ')}`;
  return 'no policy permits it';
}

/** Returns the field that hides the tools of a backend, in the order in which the gateway applies them. */
function filterOf({ vmcp: { aggregation } }: GatewayConfig, backend: string): string {
  const path = 'spec.config.aggregation';
  if (aggregation.exclude_all_tools === true) return `${path}.excludeAllTools`;
  const index = (aggregation.tools ?? []).findIndex(({ workload }) => workload === backend);
  const rule = aggregation.tools?.[index];
  if (rule?.exclude_all === true) return `${path}.tools[${String(index)}].excludeAll`;
  if (rule?.filter) return `${path}.tools[${String(index)}].filter`;
  return rule ? `${path}.conflictResolution` : `${path}.defaultToolVisibility`;
}

const credentialOf = ({ vmcp }: GatewayConfig, backend = ''): string =>
  vmcp.outgoing_auth?.[backend]?.type ?? (backend === '' ? '-' : 'none');
