import type { Problem } from '../../gateway/contract/problem.ts';
import type { Rule } from '../../gateway/contract/rule.ts';
import { defaulted, mapValues, withoutNulls, type Shape } from './schema/defaults.ts';
import { metadataFaults } from './schema/metadata-syntax.ts';
import { schemaValidator } from './schema-validator.ts';
import { KINDS } from './index.ts';
import type { Kind } from './schema/kind.ts';
import { pathText, places, type Steps } from './schema/object-path.ts';
import { toProblem, type SteppedProblem } from './schema/schema-problems.ts';
import { isObject } from '../../gateway/contract/json.ts';

function kindOf(name: string): Kind {
  const kind: Kind | undefined = KINDS.find((each) => each.kind === name);
  if (!kind) throw new Error(`unknown kind "${name}"`);
  return kind;
}

/** Keeps the first of several problems with the same reason and path. */
const withoutRepetitions = (problems: readonly SteppedProblem[]): SteppedProblem[] =>
  [
    ...new Map(problems.toReversed().map((problem) => [`${problem.reason} ${problem.path}`, problem])).values(),
  ].toReversed();

/** Returns a problem for each duplicate in a list of type `map` or `set`: the API server rejects them. */
function duplicates(shape: Shape, value: unknown, steps: Steps): SteppedProblem[] {
  if (Array.isArray(value)) {
    const { items = {} } = shape;
    return [
      ...repeated(shape, value, steps),
      ...value.flatMap((item: unknown, i) => duplicates(items, item, [...steps, i])),
    ];
  }
  if (!isObject(value)) return [];
  const free = mapValues(shape);
  return Object.entries(value).flatMap(([name, member]) => {
    const declared = shape.properties && Object.hasOwn(shape.properties, name) ? shape.properties[name] : free;
    return declared ? duplicates(declared, member, [...steps, name]) : [];
  });
}

function repeated(shape: Shape, list: readonly unknown[], steps: Steps): SteppedProblem[] {
  const type = shape['x-kubernetes-list-type'];
  if (type !== 'map' && type !== 'set') return [];
  const keys = shape['x-kubernetes-list-map-keys'] ?? [];
  const seen = new Set<string>();
  return list.flatMap((item, i) => {
    const identity = JSON.stringify(isObject(item) ? keys.map((key) => item[key]) : item);
    if (!seen.has(identity)) {
      seen.add(identity);
      return [];
    }
    const where = [...steps, i, ...(type === 'map' ? keys.slice(0, 1) : [])];
    const what =
      type === 'map' ? `the same ${keys.join(' and ')} as an item before it` : 'the same as an item before it';
    return [
      { steps: where, path: pathText(where), reason: 'InvalidValue', message: `is ${what}; remove or rename it` },
    ];
  });
}

const startsWith = (steps: Steps, prefix: Steps): boolean => prefix.every((step, i) => steps[i] === step);

/** Returns true when a schema problem makes the rule at `steps` meaningless. Unknown fields do not. */
const isMasked = (steps: Steps, rule: Rule, problems: readonly SteppedProblem[]): boolean =>
  problems.some((problem) => {
    if (problem.reason === 'UnknownField') return false;
    if (startsWith(steps, problem.steps)) return true;
    // A rule on the whole object reads only the name and one field; other fields may be invalid.
    const area = steps.length === 0 && rule.field !== undefined ? rule.field.split('.').slice(0, 2) : steps;
    if (startsWith(problem.steps, area) || startsWith(area, problem.steps)) return true;
    return steps.length === 0 && problem.steps[0] === 'metadata';
  });

function violations(rule: Rule, object: unknown, found: readonly SteppedProblem[]): Problem[] {
  return places(object, rule.path).flatMap(({ steps, value }) => {
    if (isMasked(steps, rule, found) || rule.check(value as never)) return [];
    const where = rule.field === undefined ? steps : [...steps, ...rule.field.split('.')];
    const reason = rule.field === 'metadata.name' ? 'InvalidName' : 'RuleViolated';
    return [{ path: pathText(where), reason, message: rule.message }];
  });
}

/** Returns the object without null metadata members and without a null status: the API server treats them as absent. */
function withoutAbsent(object: unknown): unknown {
  if (!isObject(object)) return object;
  const { metadata, status, ...rest } = object;
  return {
    ...rest,
    ...('metadata' in object && { metadata: isObject(metadata) ? present(metadata) : metadata }),
    ...(status !== null && 'status' in object && { status }),
  };
}

const present = (object: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(object).filter(([, member]) => member !== null));

/**
 * Use of the objects. A cluster rejects what only local mode can run and wrong labels, and ignores members without a
 * value, which are mistakes in a file.
 */
export type Target = 'local' | 'cluster';

const stored = (schema: Shape, object: unknown, target: Target): unknown =>
  defaulted(schema, target === 'cluster' ? withoutNulls(schema, withoutAbsent(object)) : withoutAbsent(object));

/**
 * Returns all problems that the API server would report about an object, with the same rule messages, and unknown
 * fields. Does not change the object. Throws on an unknown kind.
 */
export function validateObject(kind: string, object: unknown, target: Target = 'local'): Problem[] {
  const declared = kindOf(kind);
  const { schema, rules } = declared;
  const complete = stored(schema, object, target);
  const validate = schemaValidator(declared);
  validate(complete);
  const problems = [
    ...withoutRepetitions((validate.errors ?? []).map((error) => toProblem(error, complete))),
    ...duplicates(schema, complete, []),
    ...(target === 'cluster' && isObject(complete) ? metadataFaults(complete['metadata'], ['metadata']) : []),
  ];
  return [
    ...problems.map(({ path, reason, message }) => ({ path, reason, message })),
    ...rules
      .filter(({ only }) => only === undefined || only === target)
      .flatMap((rule) => violations(rule, complete, problems)),
  ];
}

/** Returns a copy of an object as the API server would store it: with defaults and without nulls that count as absent. Throws on an unknown kind. */
export const withDefaults = <Object>(kind: string, object: Object, target: Target = 'local'): Object =>
  stored(kindOf(kind).schema, object, target) as Object;
