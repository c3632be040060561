import type { Problem } from '../../contract/problem.ts';
import type { PolicyFacts } from '../policy.ts';
import type { AuthorizationConfig } from './config.ts';
import { parseEntities, type StaticEntities } from './entities.ts';
import { AUTHZ_INVALID, parsePolicies, type ParsedPolicy } from './policy-text.ts';
import { readsOf } from './syntax.ts';
import { setNewest } from '../../kit/cache.ts';

/** Actions of requests. Lists are always allowed, and their items need the action that uses them. */
const ACTIONS = ['call_tool', 'get_prompt', 'read_resource', 'list_tools', 'list_prompts', 'list_resources'];

/** A configuration whose policies and entities can be evaluated. */
export interface CheckedPolicies {
  readonly policies: readonly ParsedPolicy[];
  readonly entities: StaticEntities;
  /** Settings without the effect that their author expects. Paths start with `policies`. */
  readonly warnings: readonly Problem[];
}

type CedarConfig = AuthorizationConfig['cedar'];
type Checked = { readonly checked: CheckedPolicies } | { readonly problems: readonly Problem[] };

/** Recent results: an operator checks the same policies at each reconcile. */
const recent = new Map<string, Checked>();
const MOST_RECENT = 64;

/** Parses policies and entities. Paths of problems start with `policies` or `entities_json`. */
export function checkPolicies({ policies, entities_json: entities = '[]' }: CedarConfig): Checked {
  const key = JSON.stringify([policies, entities]);
  const known = recent.get(key);
  if (known) return known;
  const checked = check(policies, entities);
  setNewest(recent, key, checked, MOST_RECENT);
  return checked;
}

function check(texts: readonly string[], entitiesText: string): Checked {
  const policies = parsePolicies(texts);
  const entities = parseEntities(entitiesText);
  const problems = [
    ...('problems' in policies ? policies.problems : []),
    ...('problems' in entities ? entities.problems : []),
  ];
  if ('problems' in policies || 'problems' in entities) return { problems };
  const warnings = policies.value.flatMap((policy) => unknownActions(policy, entities.value));
  return { checked: { policies: policies.value, entities: entities.value, warnings } };
}

/** Warns of actions that no request has, such as the name of an MCP method. */
function unknownActions({ name, path, json }: ParsedPolicy, entities: StaticEntities): Problem[] {
  const known = new Set([...ACTIONS, ...actionGroups(entities)]);
  const unknown = [...readsOf([json]).actions].filter((action) => !known.has(action));
  return unknown.map((action) => ({
    reason: 'UnknownAction',
    path,
    message: `policy "${name}" names Action::"${action}", which no request has: use one of ${ACTIONS.join(', ')}`,
  }));
}

const actionGroups = (entities: StaticEntities): string[] =>
  [...entities.values()].flatMap(({ uid, parents }) =>
    uid.type === 'Action' ? [uid, ...parents].map(({ id }) => id) : [],
  );

/** Lists the problems of a policy document that its schema cannot express. */
export function policyDocumentProblems({ cedar }: AuthorizationConfig, { providers }: PolicyFacts): Problem[] {
  const result = checkPolicies(cedar);
  const problems = 'problems' in result ? [...result.problems] : [];
  const { primary_upstream_provider: provider } = cedar;
  if (provider !== undefined && !providers.includes(provider))
    problems.push(unknownProvider(provider, 'primary_upstream_provider', providers));
  return problems.map((each) => ({ ...each, path: `cedar.${each.path}` }));
}

/** Problem of a provider that the embedded authorization server does not have. */
export const unknownProvider = (name: string, path: string, providers: readonly string[]): Problem => ({
  reason: 'UpstreamProviderUnknown',
  path,
  message: `there is no upstream provider "${name}": ${
    providers.length === 0
      ? 'configure an embedded authorization server with it'
      : `use ${providers.map((each) => `"${each}"`).join(' or ')}`
  }`,
});

/** Returns checked policies. Throws for a configuration that was not checked before. */
export function requirePolicies({ cedar }: AuthorizationConfig): CheckedPolicies {
  const result = checkPolicies(cedar);
  if ('checked' in result) return result.checked;
  throw new Error(result.problems.map(({ path, message }) => `${AUTHZ_INVALID}: ${path}: ${message}`).join('; '));
}
