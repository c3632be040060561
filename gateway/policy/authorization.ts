import { Closed } from '../contract/fields.ts';
import type { Identity } from '../contract/identity.ts';
import { Authorizer, isAllowed, type Principal, type Standing } from './authorization/authorizer.ts';
import type { ReadTexts } from './authorization/arguments/by-arguments.ts';
import { isCanonicalUri, isUnambiguousUri } from './authorization/entities.ts';
import { policyDocumentProblems, requirePolicies } from './authorization/check.ts';
import { AuthorizationConfig, cedarFields, groupFields } from './authorization/config.ts';
import type { Outcome } from './authorization/evaluator.ts';
import { Outcomes } from './authorization/outcomes.ts';
import { withShortTools } from './tool-name.ts';
import { ALLOW, definePolicy, type Deny, type ListedItem, type Policy, type PolicyCall } from './policy.ts';

const NO_ARGUMENTS: ReadonlyMap<string, string> = new Map();
const NONE: readonly Outcome[] = [];

/** The parts of a call that policies decide on. */
export type DecidedCall = Pick<PolicyCall, 'item' | 'identity' | 'arguments' | 'readArguments'>;

const denial = (what: string): Deny =>
  Object.freeze({ verdict: 'deny', reason: 'policy', message: `${what} denied by policy` });

/** The kind of the item only: a client does not learn which policy denied, nor whether the item exists. */
const DENIALS: Readonly<Record<ListedItem['kind'], Deny>> = {
  tools: denial('tool call'),
  prompts: denial('prompt'),
  resources: denial('resource'),
  templates: denial('resource'),
};

/** Allows what Cedar policies permit, and nothing else. */
export const authorization = definePolicy({
  type: 'authorization',
  description: 'Cedar policies over users, groups, items and arguments.',
  spec: Closed({ ...cedarFields, ...groupFields }, { description: 'Cedar policies and entities.' }),
  config: AuthorizationConfig,
  member: 'authz_config',
  needsUsers: true,
  check: policyDocumentProblems,
  resolve: ({ policies, entitiesJson, groupClaimName, roleClaimName, groupEntityType }) => ({
    type: 'cedarv1' as const,
    version: '1.0' as const,
    cedar: {
      policies,
      ...(entitiesJson !== undefined && { entities_json: entitiesJson }),
      ...(groupClaimName !== undefined && { group_claim_name: groupClaimName }),
      ...(roleClaimName !== undefined && { role_claim_name: roleClaimName }),
      ...(groupEntityType !== undefined && { group_entity_type: groupEntityType }),
    },
  }),
  create: (config, { server, maxToolNameLength }) => new AuthorizationPolicy(config, server, maxToolNameLength),
});

export class AuthorizationPolicy implements Policy {
  readonly #authorizer: Authorizer;
  readonly #principals = new WeakMap<Identity, Principal>();
  readonly #calls = new Outcomes<Standing>();
  /** Apart from those of calls: otherwise the first call of a listed item would be faster than that of an unknown one. */
  readonly #lists = new Outcomes<Standing>();

  constructor(config: AuthorizationConfig, server: string, maxToolNameLength?: number) {
    this.#authorizer = new Authorizer(config, withShortTools(requirePolicies(config), maxToolNameLength), server);
  }

  get readsArguments(): boolean {
    return this.#authorizer.readsArguments;
  }

  decide(call: PolicyCall): typeof ALLOW | Deny {
    return isAllowed(this.outcomesOf(call)) ? ALLOW : DENIALS[call.item.kind];
  }

  /** Returns the outcomes that decide on a call; none for a user and an item that no policy can permit. */
  outcomesOf(call: DecidedCall): readonly Outcome[] {
    const readTexts: ReadTexts = (isRead) => (call.arguments ? call.readArguments(isRead) : NO_ARGUMENTS);
    return this.#outcomes(call.item, call.identity, this.#calls, readTexts);
  }

  /** Takes as long as a decision, and has its result. A completion of an unknown item has an empty result instead. */
  decideUnknown(call: PolicyCall): typeof ALLOW | Deny {
    const decision = this.decide(call);
    return call.method === 'completion/complete' ? decision : DENIALS[call.item.kind];
  }

  isListed(item: ListedItem, { identity }: { readonly identity: Identity | undefined }): boolean {
    return isAllowed(this.#outcomes(item, identity, this.#lists, () => NO_ARGUMENTS));
  }

  /** Evaluates both parts in any case, so that a denial takes the same time whatever policy causes it. */
  #outcomes(
    item: ListedItem,
    identity: Identity | undefined,
    known: Outcomes<Standing>,
    readTexts: ReadTexts,
  ): readonly Outcome[] {
    if (!identity || !isSpelledWell(item)) return NONE;
    const principal = this.#principalOf(identity);
    if (!principal) return NONE;
    const standing = known.get(principal, item, () => this.#authorizer.standingOf(principal, item));
    const byArguments = this.#authorizer.outcomeByArguments(principal, item, standing, readTexts);
    return byArguments ? [standing.outcome, byArguments] : [standing.outcome];
  }

  #principalOf(identity: Identity): Principal | undefined {
    const known = this.#principals.get(identity);
    if (known) return known;
    const principal = this.#authorizer.principalOf(identity);
    if (principal) this.#principals.set(identity, principal);
    return principal;
  }
}

/** Templates are no URIs; a read through one is decided by its URI, which no list has. */
const isSpelledWell = ({ kind, name, json }: ListedItem): boolean =>
  kind !== 'resources' || (json === undefined ? isUnambiguousUri(name) : isCanonicalUri(name));
