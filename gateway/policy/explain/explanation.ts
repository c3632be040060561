import { Type, type Static } from 'typebox';
import type { GatewayConfig } from '../../contract/gateway-config.ts';
import { Secret, type Identity } from '../../contract/identity.ts';
import { readDocument } from '../../contract/run-config/document.ts';
import { hasFilter, ownToolRules } from '../../contract/aggregation/aggregation.ts';
import { AuthorizationPolicy, type DecidedCall } from '../authorization.ts';
import { isAllowed } from '../authorization/authorizer.ts';
import { AuthorizationConfig } from '../authorization/config.ts';
import type { Outcome } from '../authorization/evaluator.ts';
import { shortToolName } from '../tool-name.ts';

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
export const Explanation = Type.Object(
  {
    tool: Type.String({ description: 'Name as clients see it.' }),
    backend: Type.Optional(Type.String({ description: 'Absent for a tool that no backend lists.' })),
    allowed: Type.Boolean({ description: 'True when the user can see and call the tool.' }),
    by: Type.String({ description: 'Policy that decides, or the reason why none does.' }),
    filter: Type.Optional(Type.String({ description: 'Field that hides the tool from every client.' })),
    credential: Type.String({ description: 'Strategy of the credential that the backend receives.' }),
  },
  { title: 'ToolExplanation' },
);

/** A user and a call to explain. */
export interface ExplainedCall extends Pick<DecidedCall, 'arguments' | 'readArguments'> {
  /** Claims of the user, `sub` among them. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** Tool to explain; all of them when absent. */
  readonly tool?: string | undefined;
}

/**
 * Explains the access of a user to tools by what the policies of the gateway decide. A named tool that nobody lists is explained, too.
 */
export function explainTools(
  config: GatewayConfig,
  tools: readonly KnownTool[],
  { claims, tool: only, ...call }: ExplainedCall,
): Explanation[] {
  const authz = policiesIn(config);
  const { max_tool_name_length: max } = config.vmcp.aggregation;
  const policy = authz && new AuthorizationPolicy(authz, config.name ?? '', max);
  const identity = identityWith(claims, authz?.cedar.primary_upstream_provider);
  return chosen(tools, only === undefined ? undefined : shortToolName(only, max)).map(
    ({ name, backend, json, isVisible }) => {
      const item = { kind: 'tools', name, backend: backend ?? '', json } as const;
      const outcomes = policy?.outcomesOf({ item, identity, ...call });
      const filter = backend === undefined ? 'no backend lists it' : isVisible ? undefined : filterOf(config, backend);
      return {
        tool: name,
        ...(backend !== undefined && { backend }),
        allowed: (outcomes === undefined || isAllowed(outcomes)) && filter === undefined,
        by: outcomes ? reasonOf(outcomes) : 'no policy is configured',
        ...(filter !== undefined && { filter }),
        credential: credentialOf(config, backend),
      };
    },
  );
}

function chosen(tools: readonly KnownTool[], only: string | undefined): readonly KnownTool[] {
  if (only === undefined) return tools;
  const found = tools.filter(({ name }) => name === only);
  return found.length > 0 ? found : [{ name: only, backend: undefined, json: undefined, isVisible: false }];
}

/** Returns the policies of a configuration; undefined when it has none. */
function policiesIn(config: GatewayConfig): AuthorizationConfig | undefined {
  const read = config.authz_config && readDocument(AuthorizationConfig, config.authz_config);
  if (!read) return undefined;
  if ('problems' in read) throw new Error('the configuration was not checked');
  return read.config;
}

/** Returns the identity that a token with these claims proves, or a login at `provider` that left them. */
const identityWith = (claims: ExplainedCall['claims'], provider: string | undefined): Identity => ({
  principal: '',
  issuer: '',
  subject: String(claims['sub']),
  scopes: new Set(),
  claims,
  token: new Secret(''),
  expiresAt: Infinity,
  ...(provider !== undefined && { upstream: { provider, claims } }),
});

/** Any policy that cannot be evaluated denies. */
function reasonOf(outcomes: readonly Outcome[]): string {
  const errors = outcomes.flatMap((outcome) => outcome.errors.map(({ message }) => message));
  if (errors.length > 0) return `error: ${errors.join('; ')}`;
  const isPermitted = isAllowed(outcomes);
  const policies = outcomes.flatMap(({ permits, forbids }) => (isPermitted ? permits : forbids));
  if (policies.length === 0) return 'no policy permits it';
  return `${isPermitted ? 'permit' : 'forbid'} ${policies.map(({ name }) => name).join(', ')}`;
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
