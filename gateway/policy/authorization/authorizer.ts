import type { CedarValueJson, EntityJson } from '@cedar-policy/cedar-wasm/nodejs';
import type { Identity } from '../../contract/identity.ts';
import { parseObject } from '../../contract/json.ts';
import type { ListedItem } from '../policy.ts';
import { argumentValues } from './arguments.ts';
import { CedarInstance, type Cedar } from './cedar.ts';
import type { CheckedPolicies } from './check.ts';
import { claimAttributes, claimValues, groupsOf } from './claims.ts';
import { DEFAULT_GROUP_TYPE, type AuthorizationConfig } from './config.ts';
import { keyOf, merged, reachable, refsIn, type Entity } from './entities.ts';

/** A user, as far as policies read one. */
export interface Principal {
  /** Equal for users whom no policy tells apart. */
  readonly key: string;
  readonly entity: Entity;
  /** Attributes of `context` from claims. */
  readonly claims: Readonly<Record<string, CedarValueJson>>;
}

/** Result of one evaluation. */
export interface Verdict {
  readonly allowed: boolean;
  /** Names of the policies that led to it: the permits of an allowed call, the forbids of a denied one. */
  readonly policies: readonly string[];
  /** Messages of policies that could not be evaluated. Any of them denies the call. */
  readonly errors: readonly string[];
}

const POLICIES_ID = 'policies';

/** Entity type, action and attributes of each kind of item. Templates are read as resources. */
const KINDS = {
  tools: { type: 'Tool', action: 'call_tool', operation: 'call', feature: 'tool' },
  prompts: { type: 'Prompt', action: 'get_prompt', operation: 'get', feature: 'prompt' },
  resources: { type: 'Resource', action: 'read_resource', operation: 'read', feature: 'resource' },
  templates: { type: 'Resource', action: 'read_resource', operation: 'read', feature: 'resource' },
} as const;

const HINTS = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const;

/** Evaluates the policies of one virtual server. Holds no decisions. */
export class Authorizer {
  readonly #checked: CheckedPolicies;
  readonly #groups: AuthorizationConfig['cedar'];
  readonly #server: string;
  readonly #cedar: CedarInstance;
  /** Entities that policies name, and what can be reached from them. */
  readonly #named: ReadonlyMap<string, Entity>;
  readonly #readsHints: boolean;

  constructor({ cedar }: AuthorizationConfig, checked: CheckedPolicies, server: string) {
    this.#checked = checked;
    this.#groups = cedar;
    this.#server = server;
    this.#named = reachable(checked.reads.entities, checked.entities);
    this.#readsHints = HINTS.some((hint) => checked.reads.attributes.has(hint));
    this.#cedar = new CedarInstance((module) => {
      prepare(module, checked);
    });
  }

  /** True when a decision may depend on the arguments of the call. */
  get readsArguments(): boolean {
    return this.#checked.reads.arguments;
  }

  principalOf({ subject, claims }: Identity): Principal {
    const { reads, entities } = this.#checked;
    const { group_entity_type: type = DEFAULT_GROUP_TYPE } = this.#groups;
    const entity = merged(
      {
        uid: { type: 'Client', id: subject },
        attrs: claimValues(claims, reads.attributes),
        parents: groupsOf(claims, this.#groups).map((id) => ({ type, id })),
      },
      entities,
    );
    const inContext = claimValues(claims, reads.context ?? claimAttributes(claims));
    return { key: JSON.stringify([entity.uid.id, entity.attrs, entity.parents, inContext]), entity, claims: inContext };
  }

  /**
   * Evaluates the policies for one item. `args` holds the JSON text of each argument, and is undefined for arguments that cannot be
   * read exactly. Never throws: a failure of the evaluator denies.
   */
  evaluate(principal: Principal, item: ListedItem, args: ReadonlyMap<string, string> | undefined): Verdict {
    const values = args && (this.readsArguments ? argumentValues(args, this.#checked.reads.context) : {});
    if (!values) return denied('the arguments cannot be read exactly');
    const { type, action } = KINDS[item.kind];
    const resource = this.#resourceOf(item);
    const acting = { type: 'Action', id: action };
    try {
      const answer = this.#cedar.run((module) =>
        module.statefulIsAuthorized({
          principal: { type: 'Client', id: principal.entity.uid.id },
          action: acting,
          resource: { type, id: item.name },
          context: { ...principal.claims, ...values },
          preparsedPolicySetId: POLICIES_ID,
          validateRequest: false,
          entities: this.#entities(principal.entity, resource, acting),
        }),
      );
      if (answer.type === 'failure') return denied(...answer.errors.map(({ message }) => message));
      const { decision, diagnostics } = answer.response;
      return {
        allowed: decision === 'allow' && diagnostics.errors.length === 0,
        policies: diagnostics.reason.map((id) => this.#nameOf(id)),
        errors: diagnostics.errors.map(({ policyId, error }) => `policy "${this.#nameOf(policyId)}": ${error.message}`),
      };
    } catch (error) {
      return denied(error instanceof Error ? error.message : String(error));
    }
  }

  #nameOf(id: string): string {
    return this.#checked.policies[Number(id)]?.name ?? id;
  }

  #resourceOf({ kind, name, backend, json }: ListedItem): Entity {
    const { type, operation, feature } = KINDS[kind];
    const { attributes } = this.#checked.reads;
    const attrs: Record<string, CedarValueJson> = { name, operation, feature };
    if (kind === 'tools' && this.#readsHints && json) Object.assign(attrs, hintsOf(json));
    const parents = [{ type: 'MCP', id: this.#server }];
    if (backend !== '') parents.push({ type: 'Backend', id: backend });
    const read = Object.entries(attrs).filter(([attribute]) => attributes.has(attribute));
    return merged({ uid: { type, id: name }, attrs: Object.fromEntries(read), parents }, this.#checked.entities);
  }

  /** Lists the entities that an evaluation can reach, each once. */
  #entities(principal: Entity, resource: Entity, action: Entity['uid']): EntityJson[] {
    const { entities } = this.#checked;
    const own = [principal, resource];
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

const toJson = ({ parents, ...rest }: Entity): EntityJson => ({ ...rest, parents: [...parents] });

const denied = (...errors: string[]): Verdict => ({ allowed: false, policies: [], errors });

function prepare(module: Cedar, { policies }: CheckedPolicies): void {
  const staticPolicies = Object.fromEntries(policies.map(({ text }, index) => [String(index), text]));
  const answer = module.preparsePolicySet(POLICIES_ID, { staticPolicies });
  if (answer.type === 'failure') throw new Error(answer.errors.map(({ message }) => message).join('; '));
}

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
