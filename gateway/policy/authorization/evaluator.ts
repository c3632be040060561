import type { CedarValueJson, EntityJson, PolicyJson } from '@cedar-policy/cedar-wasm/nodejs';
import type { Identity } from '../../contract/identity.ts';
import { parseObject } from '../../contract/json.ts';
import type { ListedItem } from '../policy.ts';
import type { CedarInstance } from './cedar.ts';
import { claimAttributes, claimValues, groupsOf, withGroupClaims } from './claims.ts';
import { DEFAULT_GROUP_TYPE, type AuthorizationConfig } from './config.ts';
import { keyOf, merged, reachable, refsIn, type Entity, type StaticEntities } from './entities.ts';
import type { ParsedPolicy } from './policy-text.ts';
import { readsOf, USER, type Reads } from './syntax.ts';

/** A user, as far as some policies read one. */
export interface PrincipalForm {
  readonly entity: Entity;
  /** Attributes of `context` from claims. */
  readonly claims: Readonly<Record<string, CedarValueJson>>;
}

/** Policies that apply to a request, and those that could not be evaluated. */
export interface Outcome {
  readonly permits: readonly ParsedPolicy[];
  readonly forbids: readonly ParsedPolicy[];
  readonly errors: readonly EvaluationError[];
}

export interface EvaluationError {
  /** Undefined when the whole evaluation failed. */
  readonly policy: ParsedPolicy | undefined;
  readonly message: string;
}

/** Settings that all policies of a server share. */
export interface Setting {
  readonly server: string;
  readonly groups: AuthorizationConfig['cedar'];
  readonly entities: StaticEntities;
  readonly cedar: CedarInstance;
}

/** Entity type, action and attributes of each kind of item. Templates are read as resources. */
const KINDS = {
  tools: { type: 'Tool', action: 'call_tool', operation: 'call', feature: 'tool' },
  prompts: { type: 'Prompt', action: 'get_prompt', operation: 'get', feature: 'prompt' },
  resources: { type: 'Resource', action: 'read_resource', operation: 'read', feature: 'resource' },
  templates: { type: 'Resource', action: 'read_resource', operation: 'read', feature: 'resource' },
} as const;

const HINTS = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const;

/** Evaluates some policies. Passes the evaluator only what they can read: every value costs about a microsecond. */
export class Evaluator {
  readonly reads: Reads;
  readonly #policies: readonly ParsedPolicy[];
  readonly #setting: Setting;
  /** Id of the set of policies. */
  readonly #id: string;
  /** Entities that policies name, and what can be reached from them. */
  readonly #named: ReadonlyMap<string, Entity>;
  readonly #readsHints: boolean;

  /** Evaluates the policies in the form that `rewrite` returns. */
  constructor(policies: readonly ParsedPolicy[], setting: Setting, rewrite = (policy: PolicyJson) => policy) {
    const rewritten = policies.map(({ json }) => rewrite(json));
    this.reads = readsOf(rewritten);
    this.#policies = policies;
    this.#setting = setting;
    this.#named = reachable(this.reads.entities, setting.entities);
    this.#readsHints = HINTS.some((hint) => this.reads.attributes.has(hint));
    // a text may be nested deeper than JSON
    this.#id = setting.cedar.addPolicies(
      policies.map(({ text, json }, index) => (rewritten[index] === json ? text : (rewritten[index] ?? text))),
    );
  }

  /** True when users with equal claims may have different outcomes. Configured entities may give a user attributes and parents. */
  get tellsUsersApart(): boolean {
    return this.reads.user || this.#setting.entities.size > 0;
  }

  principalOf({ subject, claims: given }: Pick<Identity, 'subject' | 'claims'>): PrincipalForm {
    const { context, attributes, hierarchy } = this.reads;
    const { groups, entities } = this.#setting;
    const claims = withGroupClaims(given, groups);
    const type = groups.group_entity_type ?? DEFAULT_GROUP_TYPE;
    const own = {
      uid: { type: USER, id: subject },
      attrs: claimValues(claims, attributes),
      parents: hierarchy ? groupsOf(given, groups).map((id) => ({ type, id })) : [],
    };
    return { entity: merged(own, entities), claims: claimValues(claims, context ?? claimAttributes(claims)) };
  }

  /** Never throws: a failure of the evaluator is an error of the outcome. `values` are attributes of `context`. */
  evaluate(principal: PrincipalForm, item: ListedItem, values: Readonly<Record<string, CedarValueJson>>): Outcome {
    const resource = this.#resourceOf(item);
    const action = { type: 'Action', id: KINDS[item.kind].action };
    try {
      const answer = this.#setting.cedar.run((module) =>
        module.statefulIsAuthorized({
          principal: principal.entity.uid,
          action,
          resource: resource.uid,
          context: { ...principal.claims, ...values },
          preparsedPolicySetId: this.#id,
          validateRequest: false,
          entities: this.#entities(principal.entity, resource, action),
        }),
      );
      if (answer.type === 'failure') return failed(...answer.errors.map(({ message }) => message));
      const { decision, diagnostics } = answer.response;
      const applied = diagnostics.reason.flatMap((id) => this.#policies[Number(id)] ?? []);
      return {
        permits: decision === 'allow' ? applied : [],
        forbids: decision === 'allow' ? [] : applied,
        errors: diagnostics.errors.map(({ policyId, error }) => this.#errorOf(policyId, error.message)),
      };
    } catch (error) {
      return failed(error instanceof Error ? error.message : String(error));
    }
  }

  #errorOf(id: string, message: string): EvaluationError {
    const policy = this.#policies[Number(id)];
    return { policy, message: `policy "${policy?.name ?? id}": ${message}` };
  }

  #resourceOf({ kind, name, backend, json }: ListedItem): Entity {
    const { type, operation, feature } = KINDS[kind];
    const { attributes, hierarchy } = this.reads;
    const { server, entities } = this.#setting;
    const attrs: Record<string, CedarValueJson> = {};
    if (attributes.has('name')) attrs['name'] = name;
    if (attributes.has('operation')) attrs['operation'] = operation;
    if (attributes.has('feature')) attrs['feature'] = feature;
    if (kind === 'tools' && this.#readsHints && json) Object.assign(attrs, hintsOf(json));
    const parents = hierarchy ? [{ type: 'MCP', id: server }] : [];
    if (hierarchy && backend !== '') parents.push({ type: 'Backend', id: backend });
    return merged({ uid: { type, id: name }, attrs, parents }, entities);
  }

  /** Lists the entities that an evaluation can reach, each once. One without attributes and parents need not exist. */
  #entities(principal: Entity, resource: Entity, action: Entity['uid']): EntityJson[] {
    const { entities } = this.#setting;
    const own = [principal, resource].filter(isWorthPassing);
    if (entities.size === 0) return own.map(toJson);
    const roots = [...own.flatMap(refsIn), action];
    const all = new Map([
      ...this.#named,
      ...reachable(roots, entities),
      ...own.map((one) => [keyOf(one.uid), one] as const),
    ]);
    return [...all.values()].map(toJson);
  }
}

const isWorthPassing = ({ attrs, parents, tags }: Entity): boolean =>
  parents.length > 0 || tags !== undefined || Object.keys(attrs).length > 0;

const toJson = ({ parents, ...rest }: Entity): EntityJson => ({ ...rest, parents: [...parents] });

const failed = (...messages: string[]): Outcome => ({
  permits: [],
  forbids: [],
  errors: messages.map((message) => ({ policy: undefined, message })),
});

/** Returns the annotations of a tool that a policy can read. @see MCP 2025-11-25, schema, ToolAnnotations */
function hintsOf(json: Buffer): Record<string, boolean> {
  const annotations = parseObject(json.toString())?.['annotations'];
  if (typeof annotations !== 'object' || annotations === null) return {};
  const known = new Map<string, unknown>(Object.entries(annotations));
  return Object.fromEntries(
    HINTS.flatMap((hint) => {
      const value = known.get(hint);
      return typeof value === 'boolean' ? [[hint, value] as const] : [];
    }),
  );
}
