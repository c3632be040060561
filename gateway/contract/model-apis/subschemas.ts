import { isObject, type JsonObject } from '../json.ts';

/** Keywords of JSON Schema with a schema as their value; that of `items` may also be a list of schemas. */
export const SCHEMA_KEYWORDS: readonly string[] = [
  ...['items', 'additionalItems', 'unevaluatedItems', 'contains', 'additionalProperties', 'unevaluatedProperties'],
  ...['propertyNames', 'not', 'if', 'then', 'else'],
];
/** Keywords with a list of schemas. */
export const LIST_KEYWORDS: readonly string[] = ['allOf', 'anyOf', 'oneOf', 'prefixItems'];
/** Keywords with schemas by name, beside `properties`. */
export const MAP_KEYWORDS: readonly string[] = ['patternProperties', '$defs', 'definitions', 'dependentSchemas'];

const WITH_SCHEMAS: ReadonlySet<string> = new Set([...SCHEMA_KEYWORDS, ...LIST_KEYWORDS]);
const WITH_MAPS: ReadonlySet<string> = new Set([...MAP_KEYWORDS, 'properties']);

/** Lists a schema and all schemas in it. Does not recurse, as a schema may be deep. */
export function subschemas(root: unknown): JsonObject[] {
  const found: JsonObject[] = [];
  const open: unknown[] = [root];
  while (open.length > 0) {
    const schema = open.pop();
    if (!isObject(schema)) continue;
    found.push(schema);
    for (const [keyword, value] of Object.entries(schema)) {
      if (WITH_SCHEMAS.has(keyword)) open.push(...(Array.isArray(value) ? (value as unknown[]) : [value]));
      else if (WITH_MAPS.has(keyword) && isObject(value)) open.push(...Object.values(value));
    }
  }
  return found;
}
