import { LIST_KEYWORDS, MAP_KEYWORDS, SCHEMA_KEYWORDS } from '../../../contract/model-apis/subschemas.ts';
import { isObjectSpan } from '../../../http/json-walk.ts';
import { isCompilable } from './compilable.ts';
import {
  absent,
  becomes,
  faultOf,
  ifList,
  ifObject,
  isNull,
  list,
  map,
  object,
  present,
  text,
  textOf,
  type Form,
} from './forms.ts';

/** Levels of a schema in which null keywords are left out. */
const DEPTH = 8;

/** Keywords for which null means that the keyword is absent. `default`, `const`, `enum` and `examples` may hold null. */
const PLAIN = [
  ...['$schema', '$id', '$ref', '$anchor', '$comment', 'title', 'description', 'type', 'enum', 'format', 'pattern'],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'minLength', 'maxLength'],
  ...['minItems', 'maxItems', 'uniqueItems', 'minContains', 'maxContains', 'minProperties', 'maxProperties'],
  ...['required', 'dependentRequired', 'contentEncoding', 'contentMediaType', 'readOnly', 'writeOnly', 'deprecated'],
  ...['nullable', 'examples'],
];
const byKeys = (keys: readonly string[], form: Form): Record<string, Form> =>
  Object.fromEntries(keys.map((key) => [key, form]));

/** Replaces null, as the schema of a property, by a schema that accepts every value. */
const property =
  (schema: Form): Form =>
  (value, report) =>
    isNull(value) ? becomes('{}', faultOf(value, 'is null'), report) : schema(value, report);

/** Returns the forms of the keywords of a schema with so many levels of schemas in it. */
function keywords(depth: number): Record<string, Form> {
  const inner = depth > 1 ? ifObject(object(keywords(depth - 1))) : present;
  return {
    ...byKeys(PLAIN, present),
    ...byKeys([...SCHEMA_KEYWORDS, 'contentSchema'], inner),
    ...byKeys(LIST_KEYWORDS, ifList(list(inner))),
    ...byKeys(MAP_KEYWORDS, ifObject(map(inner))),
    properties: ifObject(map(property(inner))),
  };
}

/** Accepts `object`: arguments are objects, so every other type means the same. */
const objectType: Form = (value, report) =>
  textOf(value) === '"object"' ? undefined : becomes('"object"', faultOf(value, 'is not "object"'), report);

/** Replaces a boolean schema by an equal object, and any other value by the schema that accepts everything. */
const rootProperty =
  (schema: Form): Form =>
  (value, report) => {
    if (isObjectSpan(value.text, value.span)) return schema(value, report);
    const equal = textOf(value) === 'false' ? '{"not":{}}' : '{}';
    return becomes(equal, faultOf(value, 'is no object'), report);
  };

/** Returns the forms of the members of a schema that clients read. */
function root(hasNulls: boolean): Record<string, Form> {
  const others = hasNulls ? keywords(DEPTH) : {};
  const inner = hasNulls ? object(keywords(DEPTH - 1)) : () => undefined;
  return { ...others, $schema: text, properties: map(rootProperty(inner)), required: list(text) };
}

/** Returns the form of the schema of arguments. `hasNulls` is true for a text that contains null. */
export const inputSchema = (hasNulls: boolean): Form =>
  object({ ...root(hasNulls), type: objectType }, { type: absent('"object"') });

/** Returns the form of the schema of results, which clients compile. */
export const outputSchema = (hasNulls: boolean): Form => {
  const readable = object(root(hasNulls));
  return (value, report) => {
    const checked = readable(value, report);
    if (typeof checked === 'object') return checked;
    return isCompilable(checked ?? textOf(value))
      ? checked
      : faultOf(value, 'is no JSON Schema that clients can compile');
  };
};
