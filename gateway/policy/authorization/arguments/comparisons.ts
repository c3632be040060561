import type { PolicyJson } from '@cedar-policy/cedar-wasm/nodejs';
import { isObject } from '../../../contract/json.ts';
import { MAX_JSON_DEPTH } from '../config.ts';
import { ARGUMENT, depthOf } from '../syntax.ts';

/** Attributes of `context` with forms of a numeric argument. No argument and no claim has an attribute of such a name. */
export const FLOOR = `floor of ${ARGUMENT}`;
export const CEILING = `ceiling of ${ARGUMENT}`;
export const REST = `rest of ${ARGUMENT}`;
export const DECIMAL = `decimal of ${ARGUMENT}`;

type Members = Readonly<Record<string, unknown>>;

/** Form of an argument that compares with a whole number as the argument itself does, on either side of an operator. */
const ON_THE_LEFT: Readonly<Record<string, string>> = { '<': FLOOR, '<=': CEILING, '>': CEILING, '>=': FLOOR };
const ON_THE_RIGHT: Readonly<Record<string, string>> = { '<': CEILING, '<=': FLOOR, '>': FLOOR, '>=': CEILING };
const EQUALITIES: ReadonlySet<string> = new Set(['==', '!=']);
const DECIMAL_METHODS: ReadonlySet<string> = new Set([
  'lessThan',
  'lessThanOrEqual',
  'greaterThan',
  'greaterThanOrEqual',
]);

/**
 * Returns a policy that also compares fractions, for arguments with the forms of `ExactNumber`: Cedar orders whole numbers with
 * `<`, and decimals with methods, but never one with the other. Returns `policy` itself when it is nested too deeply for JSON: it
 * then denies calls with a fraction.
 */
export function withExactComparisons(policy: PolicyJson): PolicyJson {
  const conditions = policy.conditions.map((clause) => ({ ...clause, body: exact(clause.body) as typeof clause.body }));
  const rewritten = { ...policy, conditions };
  return depthOf(rewritten) > MAX_JSON_DEPTH ? policy : rewritten;
}

/** Recurses at most as deep as policies may be nested. */
function exact(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(exact);
  if (!isObject(node) || 'Value' in node) return node;
  if (isObject(node['Record'])) return { Record: mapped(node['Record']) }; // its keys may be names of operators
  const [[operator, operands] = ['', undefined]] = Object.entries(node);
  if (DECIMAL_METHODS.has(operator) && Array.isArray(operands)) return { [operator]: operands.map(asDecimal) };
  return (isObject(operands) && comparison(operator, operands)) || mapped(node);
}

const mapped = (members: Members): Members =>
  Object.fromEntries(Object.entries(members).map(([name, member]) => [name, exact(member)]));

/** Returns the exact form of a comparison of an argument; undefined for another operator and other operands. */
function comparison(operator: string, { left, right }: Members): Members | undefined {
  const [first, second] = [argumentIn(left), argumentIn(right)];
  if (first === undefined && second === undefined) return undefined;
  if (EQUALITIES.has(operator))
    return isDecimal(left) || isDecimal(right)
      ? { [operator]: { left: asDecimal(left), right: asDecimal(right) } }
      : undefined;
  const [ofLeft, ofRight] = [ON_THE_LEFT[operator], ON_THE_RIGHT[operator]];
  if (ofLeft === undefined || ofRight === undefined) return undefined;
  if (first !== undefined && second !== undefined) return ofTwo(operator, first, second);
  return {
    [operator]: {
      left: first === undefined ? exact(left) : attribute(ofLeft + first),
      right: second === undefined ? exact(right) : attribute(ofRight + second),
    },
  };
}

/** Compares two arguments: by their whole parts, and by the rest where these are equal. */
function ofTwo(operator: string, first: string, second: string): Members {
  const strict = operator.charAt(0);
  const [left, right] = [attribute(FLOOR + first), attribute(FLOOR + second)];
  const rest = { left: attribute(REST + first), right: attribute(REST + second) };
  const isEqual = { '==': { left, right } };
  return {
    '||': { left: { [strict]: { left, right } }, right: { '&&': { left: isEqual, right: { [operator]: rest } } } },
  };
}

const asDecimal = (node: unknown): unknown => {
  const name = argumentIn(node);
  return name === undefined ? exact(node) : attribute(DECIMAL + name);
};

const isDecimal = (node: unknown): boolean => isObject(node) && 'decimal' in node;

const attribute = (attr: string): Members => ({ '.': { left: { Var: 'context' }, attr } });

/** Returns the name in `context.arg_<name>`; undefined for other expressions. */
function argumentIn(node: unknown): string | undefined {
  const access = isObject(node) ? node['.'] : undefined;
  if (!isObject(access) || !isObject(access['left']) || access['left']['Var'] !== 'context') return undefined;
  const { attr } = access;
  return typeof attr === 'string' && attr.startsWith(ARGUMENT) ? attr.slice(ARGUMENT.length) : undefined;
}
