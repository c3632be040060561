import type { Expr, PolicyJson } from '@cedar-policy/cedar-wasm/nodejs';
import { isObject } from '../../contract/json.ts';

/** Attributes and actions that policies mention. The evaluator gets no other attributes, and caches ignore them. */
export interface Reads {
  /** Attributes of `context`; undefined when a policy uses the record as a whole. */
  readonly context: ReadonlySet<string> | undefined;
  /** Attributes of any entity or record. */
  readonly attributes: ReadonlySet<string>;
  /** True when the decision may depend on the arguments of a call. */
  readonly arguments: boolean;
  /** True when a policy uses `in`: otherwise parents of entities have no effect. */
  readonly hierarchy: boolean;
  /** Ids of entities of type `Action`. */
  readonly actions: ReadonlySet<string>;
  /** True when a policy may compare the user itself: otherwise only its attributes and parents have an effect. */
  readonly user: boolean;
  /** Entities that policies name. */
  readonly entities: readonly EntityRef[];
}

export interface EntityRef {
  readonly type: string;
  readonly id: string;
}

export const ARGUMENT = 'arg_';
/** Entity type of users. */
export const USER = 'Client';

export const isEntityRef = (value: unknown): value is EntityRef =>
  isObject(value) && typeof value['type'] === 'string' && typeof value['id'] === 'string';

/** Returns the greatest number of nested expressions in a policy. Does not recurse. */
export function depthOf(policy: PolicyJson): number {
  let deepest = 0;
  visit(policy, (_node, depth) => {
    deepest = Math.max(deepest, depth);
  });
  return Math.ceil(deepest / LEVELS_PER_EXPRESSION);
}

/** An expression is an object with the operator as key, above an object with the operands. */
const LEVELS_PER_EXPRESSION = 2;

/** Lists what policies, or expressions of them, read, from their syntax trees. */
export function readsOf(policies: readonly (PolicyJson | Expr)[]): Reads {
  const context = new Set<string>();
  const attributes = new Set<string>();
  const actions = new Set<string>();
  const entities: EntityRef[] = [];
  const uses = { wholeContext: false, hierarchy: false, user: false };
  for (const policy of policies) {
    const accessed = new Set<unknown>();
    const ofUser = new Set<unknown>();
    visit(policy, (node) => {
      const access = attributeAccess(node);
      if (access) {
        for (const name of access.names) attributes.add(name);
        const [first] = access.names;
        if (isContext(access.of) && first !== undefined) {
          context.add(first);
          accessed.add(access.of);
        }
      }
      if (isContext(node) && !accessed.has(node)) uses.wholeContext = true;
      if ('in' in node || node['op'] === 'in') uses.hierarchy = true;
      ofUser.add(leftOf(node));
      if (isPrincipal(node) && !ofUser.has(node)) uses.user = true;
      if (!isEntityRef(node)) return;
      entities.push({ type: node.type, id: node.id });
      if (node.type === 'Action') actions.add(node.id);
      if (node.type === USER) uses.user = true;
    });
  }
  const { wholeContext, hierarchy, user } = uses;
  const readsArguments = wholeContext || [...context].some((name) => name.startsWith(ARGUMENT));
  return {
    context: wholeContext ? undefined : context,
    attributes,
    arguments: readsArguments,
    hierarchy,
    user,
    actions,
    entities,
  };
}

/** Calls `see` with each object of a tree and its depth, parents first. Does not recurse, as a tree may be deep. */
function visit(root: unknown, see: (node: Record<string, unknown>, depth: number) => void): void {
  const open: { node: unknown; depth: number }[] = [{ node: root, depth: 0 }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { node, depth } = next;
    if (Array.isArray(node)) for (const item of node) open.push({ node: item as unknown, depth: depth + 1 });
    else if (isObject(node)) {
      see(node, depth);
      for (const member of Object.values(node)) open.push({ node: member, depth: depth + 1 });
    }
  }
}

/** Returns the attributes of `x.a` and `x has a.b`, the outermost first. */
function attributeAccess(node: Record<string, unknown>): { of: unknown; names: string[] } | undefined {
  const access = node['.'] ?? node['has'];
  if (!isObject(access)) return undefined;
  const { left, attr } = access;
  const names = (Array.isArray(attr) ? attr : [attr]).filter((name) => typeof name === 'string');
  return { of: left, names };
}

/** Returns the left operand of `x.a`, `x has a`, `x in y` and `x is T`, which do not compare `x` with an entity of its type. */
const leftOf = (node: Record<string, unknown>): unknown => {
  const operands = node['.'] ?? node['has'] ?? node['in'] ?? node['is'];
  return isObject(operands) ? operands['left'] : undefined;
};

const isPrincipal = (node: unknown): boolean => isObject(node) && node['Var'] === 'principal';

const isContext = (node: unknown): boolean => isObject(node) && node['Var'] === 'context';
