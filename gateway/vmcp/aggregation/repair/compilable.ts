import { isObject, type JsonObject } from '../../../contract/json.ts';

const TYPES: readonly unknown[] = ['null', 'boolean', 'number', 'integer', 'string', 'object', 'array'];

const isNumber = (value: unknown): boolean => typeof value === 'number';
const isSchema = (value: unknown): boolean => isObject(value) || typeof value === 'boolean';
const isType = (value: unknown): boolean => [value].flat().every((type) => TYPES.includes(type));

function isPattern(value: unknown): boolean {
  try {
    return typeof value === 'string' && new RegExp(value, 'u').source !== '';
  } catch {
    return false;
  }
}

const NUMBERS = [
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'minLength', 'maxLength'],
  ...['minItems', 'maxItems', 'minProperties', 'maxProperties', 'minContains', 'maxContains'],
];
const SCHEMAS = ['additionalProperties', 'propertyNames', 'additionalItems', 'contains', 'not', 'if', 'then', 'else'];
const LISTS = ['allOf', 'anyOf', 'oneOf'];
const MAPS = ['properties', 'patternProperties'];

/** Keywords that validators refuse, or whose meaning differs between them. */
const UNKNOWN = /^(?:id|\$async|dependencies|format(?:Exclusive)?M\w+imum)$/u;

/** Keys that name schemas in other ways than by their paths. */
const NAMES = /"\$(?:id|anchor)"/gu;

const KEYWORDS: ReadonlyMap<string, (value: unknown) => boolean> = new Map<string, (value: unknown) => boolean>([
  ...NUMBERS.map((key) => [key, isNumber] as const),
  ...SCHEMAS.map((key) => [key, isSchema] as const),
  ...LISTS.map((key) => [key, (value: unknown) => Array.isArray(value) && value.every(isSchema)] as const),
  ...MAPS.map((key) => [key, (value: unknown) => isObject(value) && Object.values(value).every(isSchema)] as const),
  ['type', isType],
  ['enum', (value) => Array.isArray(value) && value.length > 0],
  ['format', (value) => typeof value === 'string'],
  ['pattern', isPattern],
  ['patternProperties', (value) => isObject(value) && Object.keys(value).every(isPattern)],
  ['required', Array.isArray],
  ['uniqueItems', (value) => typeof value === 'boolean'],
  ['items', (value) => [value].flat().every(isSchema)],
]);

/**
 * Returns false for the text of a JSON Schema that validators may not compile. An SDK compiles the `outputSchema` of all tools when it
 * lists them, and a schema that does not compile hides them all. Ajv would answer the same, but takes up to 20 ms for a schema.
 */
export function isCompilable(text: string): boolean {
  const root = JSON.parse(text) as JsonObject;
  const names = text.match(NAMES)?.length ?? 0;
  return names === (root['$id'] === undefined ? 0 : 1) && isCompilableIn(root, root, new Set());
}

/** `seen` holds the schemas that are being read, or were. */
function isCompilableIn(schema: unknown, root: JsonObject, seen: Set<unknown>): boolean {
  if (!isObject(schema) || seen.has(schema)) return isSchema(schema);
  seen.add(schema);
  for (const [key, value] of Object.entries(schema))
    if (UNKNOWN.test(key) || KEYWORDS.get(key)?.(value) === false) return false;
  const { $ref: reference, $id: id = '', type, nullable, patternProperties = {} } = schema;
  if (typeof id !== 'string') return false;
  if (nullable !== undefined && (nullable !== true || [type ?? []].flat().length === 0)) return false;
  if (!isObject(patternProperties) || !Object.values(patternProperties).every(isSchema)) return false;
  const target = reference === undefined ? true : schemaAt(reference, root);
  return [target, ...innerSchemas(schema)].every((each) => isCompilableIn(each, root, seen));
}

/** Returns the schemas in the keywords of a schema. */
const innerSchemas = (schema: JsonObject): unknown[] => [
  ...[...SCHEMAS, 'items', ...LISTS].flatMap((key) => schema[key] ?? []),
  ...MAPS.flatMap((key) => Object.values(schema[key] ?? {}) as unknown[]),
];

/** Returns the value at a JSON pointer (RFC 6901) in a fragment; undefined for another reference, and where there is none. */
function schemaAt(reference: unknown, root: JsonObject): unknown {
  if (typeof reference !== 'string' || !/^#(?:\/[^%]*)?$/u.test(reference)) return undefined;
  const keys = reference.slice(2).split('/');
  if (reference === '#') return root;
  return keys.reduce<unknown>((value, key) => {
    const name = key.replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(value)) return value[Number(name)] as unknown;
    return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  }, root);
}
