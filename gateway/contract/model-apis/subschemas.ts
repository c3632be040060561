import { isObject, type JsonObject } from '../json.ts';

/** Keywords of JSON Schema whose values are a schema, a list of schemas, or both. */
const SCHEMA_KEYWORDS: ReadonlySet<string> = new Set([
  ...['items', 'prefixItems', 'additionalItems', 'unevaluatedItems', 'contains'],
  ...['additionalProperties', 'unevaluatedProperties', 'propertyNames'],
  ...['anyOf', 'oneOf', 'allOf', 'not', 'if', 'then', 'else'],
]);

/** Keywords whose values are schemas by name. */
const MAP_KEYWORDS: ReadonlySet<string> = new Set([
  ...['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions'],
]);

/** Lists a schema and all schemas in it. Does not recurse, as a schema may be deep. */
export function subschemas(root: unknown): JsonObject[] {
  const found: JsonObject[] = [];
  const open: unknown[] = [root];
  while (open.length > 0) {
    const schema = open.pop();
    if (!isObject(schema)) continue;
    found.push(schema);
    for (const [keyword, value] of Object.entries(schema)) {
      if (SCHEMA_KEYWORDS.has(keyword)) open.push(...(Array.isArray(value) ? (value as unknown[]) : [value]));
      else if (MAP_KEYWORDS.has(keyword) && isObject(value)) open.push(...Object.values(value));
    }
  }
  return found;
}
