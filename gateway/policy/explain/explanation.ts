import { Type, type Static } from 'typebox';
import type { GatewayConfig } from '../../contract/gateway-config.ts';
import { Secret, type Identity } from '../../contract/identity.ts';
import { readDocument } from '../../contract/run-config/document.ts';
import { hasFilter, ownToolRules } from '../../contract/aggregation/tool-rules.ts';
import { Authorizer, type Verdict } from '../authorization/authorizer.ts';
import { requirePolicies } from '../authorization/check.ts';
import { AuthorizationConfig } from '../authorization/config.ts';

/** A tool of the backends. */
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
export type Explanation = Static<typeof Explanation>;
export const Explanation = Type.Object({
  tool: Type.String({ description: 'Name as clients see it.' }),
  backend: Type.Optional(Type.String({ description: 'Absent for a tool that no backend lists.' })),
  allowed: Type.Boolean({ description: 'True when the user can see and call the tool.' }),
  by: Type.String({ description: 'Policy that decides, or the reason why none does.' }),
  filter: Type.Optional(Type.String({ description: 'Field that hides the tool from every client.' })),
  credential: Type.String({ description: 'Strategy of the credential that the backend receives.' }),
});

/** A user and a call to explain. */
export interface ExplainedCall {
  /** Claims of the user, `sub` among them. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** Arguments of the call. */
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Tool to explain; all of them when absent. */
  readonly tool?: string | undefined;
}

/** Explains the access of a user to tools, with the policies of the gateway. A named tool that nobody lists is explained, too. */
export function explainTools(
  config: GatewayConfig,
  tools: readonly KnownTool[],
  { claims, arguments: args, tool: only }: ExplainedCall,
): Explanation[] {
  const judge = judgeOf(config, claims);
  const texts = new Map(Object.entries(args).map(([name, value]) => [name, JSON.stringify(value)]));
  return chosen(tools, only).map(({ name, backend, json, isVisible }) => {
    const verdict = judge?.({ kind: 'tools', name, backend: backend ?? '', json }, texts);
    const filter = backend === undefined ? 'no backend lists it' : isVisible ? undefined : filterOf(config, backend);
    return {
      tool: name,
      ...(backend !== undefined && { backend }),
      allowed: (verdict?.allowed ?? true) && filter === undefined,
      by: verdict ? reasonOf(verdict) : 'no policy is configured',
      ...(filter !== undefined && { filter }),
      credential: credentialOf(config, backend),
    };
  });
}

function chosen(tools: readonly KnownTool[], only: string | undefined): readonly KnownTool[] {
  if (only === undefined) return tools;
  const found = tools.filter(({ name }) => name === only);
  return found.length > 0 ? found : [{ name: only, backend: undefined, json: undefined, isVisible: false }];
}

type Judge = (item: Parameters<Authorizer['evaluate']>[1], args: ReadonlyMap<string, string>) => Verdict;

/** Permits nothing to a user whose claims cannot be read. */
const DENIED: Verdict = { allowed: false, policies: [], errors: [] };

/** Returns undefined for a configuration without policies. */
function judgeOf(config: GatewayConfig, claims: ExplainedCall['claims']): Judge | undefined {
  const read = config.authz_config && readDocument(AuthorizationConfig, config.authz_config);
  if (!read) return undefined;
  if ('problems' in read) throw new Error('the configuration was not checked');
  const authorizer = new Authorizer(read.config, requirePolicies(read.config), config.name ?? '');
  const provider = read.config.cedar.primary_upstream_provider;
  const identity = identityWith(claims);
  const upstream = provider === undefined ? {} : { upstream: { provider, claims } };
  const principal = authorizer.principalOf({ ...identity, ...upstream });
  return (item, args) => (principal ? authorizer.evaluate(principal, item, args) : DENIED);
}

/** Returns the identity that a token with these claims proves. */
const identityWith = (claims: ExplainedCall['claims']): Identity => ({
  principal: '',
  issuer: '',
  subject: String(claims['sub']),
  scopes: new Set(),
  claims,
  token: new Secret(''),
  expiresAt: Infinity,
});

/** Any policy that cannot be evaluated denies. */
function reasonOf({ allowed, policies, errors }: Verdict): string {
  if (errors.length > 0) return `error: ${errors.join('; ')}`;
  if (policies.length > 0) return `${allowed ? 'permit' : 'forbid'} ${policies.join(', ')}`;
  return 'no policy permits it';
}

/**
 * Returns the field that hides the tools of a backend, in the order in which the gateway applies them: of a VirtualMCPServer, or of
 * a workload, which has no namespace.
 */
function filterOf({ vmcp: { aggregation, namespace } }: GatewayConfig, backend: string): string {
  if (namespace === undefined) return 'tools';
  const path = 'spec.config.aggregation';
  if (aggregation.exclude_all_tools === true) return `${path}.excludeAllTools`;
  const index = (aggregation.tools ?? []).findIndex(({ workload }) => workload === backend);
  const rule = aggregation.tools?.[index];
  if (rule?.exclude_all === true) return `${path}.tools[${String(index)}].excludeAll`;
  if (!rule && aggregation.default_tool_visibility === 'deny') return `${path}.defaultToolVisibility`;
  const rules = [rule ?? {}, ownToolRules(aggregation, backend)].find(hasFilter);
  if (rules) return rules.filter_source ?? `${path}.tools[${String(index)}].filter`;
  return `${path}.conflictResolution`;
}

const credentialOf = ({ vmcp }: GatewayConfig, backend = ''): string =>
  vmcp.outgoing_auth?.[backend]?.type ?? (backend === '' ? '-' : 'none');
