import { isObject, type JsonObject } from '../../../contract/json.ts';
import { resolveRef } from './local-ref.ts';

/** Keywords that all model APIs know and that hold no schemas, and the mark of an argument that is a header (SEP-2243). */
const PLAIN = [
  ...['type', 'title', 'description', 'format', 'nullable', 'default', 'enum', 'pattern', 'minLength', 'maxLength'],
  ...['minimum', 'maximum', 'minItems', 'maxItems', 'minProperties', 'maxProperties', 'required', 'x-mcp-header'],
];
/** Most characters of the keywords in a result: schemas behind `$ref` may double with each level. */
const MOST_CHARACTERS = 256 * 1_024;
const MOST_LEVELS = 32;
/** Characters that a schema takes beside its keywords. */
const OVERHEAD = 16;

/** A schema in the making. */
type Draft = Record<string, unknown>;

/** State of a conversion. */
interface Place {
  readonly root: JsonObject;
  /** Characters that are left. */
  readonly budget: { left: number };
  /** Schemas behind `$ref` on the way here. */
  readonly outer: readonly JsonObject[];
  readonly level: number;
}

/**
 * Returns an input schema in the part of JSON Schema that the APIs of all models accept: local `$ref` inlined, arrays with `items`, one
 * type, no other keywords. It accepts at least what `root` accepts, as far as a model can tell; the backend still checks the arguments.
 * A recursive or too large part accepts every value of its type.
 */
export function portableSchema(root: JsonObject): JsonObject {
  const place: Place = { root, budget: { left: MOST_CHARACTERS }, outer: [], level: 0 };
  const schema = convert(root, place);
  const { anyOf, nullable: _nullable, enum: _enum, ...rest } = schema;
  const parts = listOf(anyOf).filter(isObject);
  // the APIs accept no alternatives at the top: the arguments of all of them, none of which is required
  const properties = Object.fromEntries([...parts, rest].flatMap((part) => entriesOf(part['properties'])));
  return { ...rest, type: 'object', ...(parts.length > 0 || rest['properties'] ? { properties } : {}) };
}

function convert(given: unknown, place: Place): Draft {
  if (!isObject(given)) return {};
  if (place.budget.left < 0) return bare({}, typeOf(given));
  const { $ref: ref, ...own } = given;
  if (typeof ref === 'string') return inlined(ref, own, place);
  const merged = withAll(given, place);
  const type = typeOf(merged);
  const draft: Draft = Object.fromEntries(
    PLAIN.flatMap((keyword) => (merged[keyword] === undefined ? [] : [[keyword, merged[keyword]]])),
  );
  if (type !== undefined) draft['type'] = type;
  place.budget.left -= OVERHEAD + JSON.stringify(draft).length;
  if (isNullable(merged)) draft['nullable'] = true;
  addValues(draft, merged);
  if (place.budget.left < 0) return bare({}, type);
  if (place.level >= MOST_LEVELS) return bare(draft, type);
  const below = { ...place, level: place.level + 1 };
  addChildren(draft, merged, type, below);
  return withChoices(draft, merged, below);
}

/** Returns the schema behind a reference; the keywords beside it take precedence. */
function inlined(ref: string, own: JsonObject, place: Place): Draft {
  const target = resolveRef(ref, place.root);
  if (!isObject(target)) return convert(own, place);
  const { 'x-mcp-header': _mark, ...copy } = target;
  if (place.outer.includes(target) || place.outer.length >= MOST_LEVELS)
    return bare({ ...convert(own, place) }, typeOf(target));
  return convert({ ...copy, ...own }, { ...place, outer: [...place.outer, target] });
}

/** Returns a schema without the schemas in it. */
function bare(draft: Draft, type: string | undefined): Draft {
  const { required: _required, ...rest } = draft;
  return { ...rest, ...(type !== undefined && { type }), ...(type === 'array' && { items: { type: 'string' } }) };
}

/** Merges the parts of `allOf` into their schema. */
function withAll(schema: JsonObject, place: Place): JsonObject {
  const { allOf, ...own } = schema;
  let merged: JsonObject = own;
  for (const part of listOf(allOf).slice(0, MOST_LEVELS)) {
    if (!isObject(part) || place.level >= MOST_LEVELS || place.budget.left < 0) continue;
    const { $ref: ref, ...rest } = part;
    const target = typeof ref === 'string' ? resolveRef(ref, place.root) : undefined;
    const whole: JsonObject = isObject(target) && !place.outer.includes(target) ? { ...target, ...rest } : rest;
    const inner = withAll(whole, { ...place, level: place.level + 1 });
    place.budget.left -= OVERHEAD * (1 + entriesOf(inner['properties']).length);
    const properties = Object.fromEntries([...entriesOf(inner['properties']), ...entriesOf(merged['properties'])]);
    const required = [...new Set([...listOf(merged['required']), ...listOf(inner['required'])])];
    merged = {
      ...inner,
      ...merged,
      ...(Object.keys(properties).length > 0 && { properties }),
      ...(required.length > 0 && { required }),
    };
  }
  return merged;
}

/** Returns the first type other than null, else the one that the other keywords imply. */
function typeOf({ type, properties, items, prefixItems, enum: values, const: value }: JsonObject): string | undefined {
  const types = (Array.isArray(type) ? (type as unknown[]) : [type]).filter((each) => typeof each === 'string');
  const [first] = types.filter((each) => each !== 'null');
  if (first !== undefined || types.length > 0) return first ?? 'null';
  if (isObject(properties)) return 'object';
  if (items !== undefined || prefixItems !== undefined) return 'array';
  const all = value === undefined ? listOf(values).filter((each) => each !== null) : [value];
  return all.length > 0 && all.every((each) => typeof each === 'string') ? 'string' : undefined;
}

const isNullable = ({ type, nullable }: JsonObject): boolean =>
  nullable === true || (Array.isArray(type) && type.length > 1 && type.includes('null'));

/** Adds the values and the range. */
function addValues(draft: Draft, { const: value, enum: values, ...schema }: JsonObject): void {
  const allowed = (value === undefined ? listOf(values) : [value]).filter((each) => each !== null);
  if (allowed.length > 0) draft['enum'] = allowed;
  else delete draft['enum'];
  if (draft['default'] === null) delete draft['default'];
  const step = draft['type'] === 'integer' ? 1 : 0;
  const { exclusiveMinimum: above, exclusiveMaximum: below } = schema;
  if (typeof above === 'number') draft['minimum'] ??= above + step;
  if (typeof below === 'number') draft['maximum'] ??= below - step;
}

/** Adds the arguments of an object, or the items of an array. */
function addChildren(draft: Draft, schema: JsonObject, type: string | undefined, place: Place): void {
  const { properties, required } = schema;
  delete draft['required'];
  if (type === 'object' && isObject(properties)) {
    const children = Object.entries(properties).map(([name, child]) => [name, convert(child, place)] as const);
    draft['properties'] = Object.fromEntries(children);
    const names = listOf(required).filter((name) => typeof name === 'string' && Object.hasOwn(properties, name));
    if (names.length > 0) draft['required'] = names;
  }
  if (type === 'array') draft['items'] = itemsOf(schema, place);
}

/** Returns the schema of items: of a tuple that of its first item, and text where the schema says nothing. */
function itemsOf({ items, prefixItems }: JsonObject, place: Place): Draft {
  const [first] = [...listOf(prefixItems), ...listOf(items), items].filter(isObject);
  const schema = convert(first, place);
  return schema['type'] === undefined && schema['anyOf'] === undefined ? { ...schema, type: 'string' } : schema;
}

/**
 * Adds the alternatives of `anyOf` and `oneOf`, unless an alternative accepts every value. A single alternative beside null becomes
 * the schema itself.
 */
function withChoices(draft: Draft, { anyOf, oneOf }: JsonObject, place: Place): Draft {
  const given = [...listOf(anyOf), ...listOf(oneOf)].filter(isObject).filter((choice) => !onlyRequires(choice));
  const choices = given.filter(({ type }) => type !== 'null').map((choice) => convert(choice, place));
  if (choices.length < given.length) draft['nullable'] = true;
  const [only, ...others] = choices;
  if (only === undefined || choices.some((choice) => Object.keys(choice).length === 0)) return draft;
  const isWhole = others.length === 0 && draft['properties'] === undefined;
  return isWhole ? { ...only, ...draft } : { ...draft, anyOf: choices };
}

/** Returns true for an alternative such as `{"required": ["a"]}`, which describes no value. */
const onlyRequires = (choice: JsonObject): boolean => Object.keys(choice).join(' ') === 'required';

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as unknown[]) : []);

const entriesOf = (value: unknown): [string, unknown][] => (isObject(value) ? Object.entries(value) : []);
