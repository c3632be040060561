import type { TSchema } from 'typebox';
import type { Rule } from '../../../gateway/contract/rule.ts';
import { isObject, type JsonObject } from '../../../gateway/contract/json.ts';

/** Node of a structural schema, like JSONSchemaProps of apiextensions/v1. */
export interface StructuralSchema {
  type?: string;
  description?: string;
  properties?: Record<string, StructuralSchema>;
  additionalProperties?: StructuralSchema;
  items?: StructuralSchema;
  required?: string[];
  enum?: unknown[];
  'x-kubernetes-validations'?: { rule: string; message: string; fieldPath?: string }[];
  [keyword: string]: unknown;
}

const REFUSED = ['anyOf', 'oneOf', 'allOf', 'not', 'const', '$ref', 'if', 'prefixItems'];
const INT_OR_STRING = 'x-kubernetes-int-or-string';
const COPIED = new Set([
  'type',
  'description',
  'default',
  'enum',
  'format',
  'pattern',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
  'required',
  INT_OR_STRING,
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-preserve-unknown-fields',
]);
const TRANSLATED = new Set(['properties', 'patternProperties', 'items', 'additionalProperties']);

/** Returns the schema of the values of a map, or undefined if the node is not a map. */
const mapValue = (node: JsonObject): JsonObject | undefined => {
  const patterns = node['patternProperties'];
  const [value] = isObject(patterns) ? Object.values(patterns) : [];
  return isObject(value) ? value : undefined;
};

function validations(rules: readonly Rule[], path: string): StructuralSchema['x-kubernetes-validations'] {
  const here = rules.filter((rule) => rule.path === path);
  if (here.length === 0) return undefined;
  // The API server rejects a fieldPath into the metadata of the root.
  return here.map(({ rule, message, field }) => ({
    rule,
    message,
    ...(field !== undefined && path !== '' ? { fieldPath: `.${field}` } : {}),
  }));
}

function translate(node: JsonObject, path: string, rules: readonly Rule[], seen: Set<string>): StructuralSchema {
  const where = path === '' ? 'the root' : path;
  for (const keyword of Object.keys(node)) {
    if (REFUSED.includes(keyword)) throw new Error(`${where}: a structural schema does not support ${keyword}`);
    if (!COPIED.has(keyword) && !TRANSLATED.has(keyword)) throw new Error(`${where}: unknown keyword ${keyword}`);
  }
  seen.add(path);
  const out: StructuralSchema = Object.fromEntries(Object.entries(node).filter(([keyword]) => COPIED.has(keyword)));
  if (node['enum'] && node['type'] === undefined) out.type = 'string';
  if (node[INT_OR_STRING] === true) {
    delete out.type; // a structural schema has one type, or this pair
    out['anyOf'] = [{ type: 'integer' }, { type: 'string' }];
  }
  const { properties, items } = node;
  if (isObject(properties) && Object.keys(properties).length > 0) {
    out.properties = {};
    for (const [name, member] of Object.entries(properties)) {
      if (isObject(member))
        out.properties[name] = translate(member, path === '' ? name : `${path}.${name}`, rules, seen);
    }
  }
  const value = mapValue(node);
  if (value) out.additionalProperties = translate(value, `${path}{}`, rules, seen);
  if (isObject(items)) out.items = translate(items, `${path}[]`, rules, seen);
  const validated = validations(rules, path);
  if (validated) out['x-kubernetes-validations'] = validated;
  if (out.type === undefined && out[INT_OR_STRING] !== true && out['x-kubernetes-preserve-unknown-fields'] !== true) {
    throw new Error(`${where}: a structural schema needs a type`);
  }
  return out;
}

/**
 * Converts a TypeBox schema to the structural schema of a CRD. Maps become `additionalProperties`, enums get a type,
 * rules become CEL validations, and unknown fields are left to pruning. Throws with the path on keywords that a
 * structural schema does not support, and on a rule whose path does not exist.
 */
export function structural(schema: TSchema, rules: readonly Rule[] = []): StructuralSchema {
  const seen = new Set<string>();
  const out = translate(schema as JsonObject, '', rules, seen);
  const lost = rules.find((rule) => !seen.has(rule.path));
  if (lost) throw new Error(`${lost.path}: no such path for the rule "${lost.message}"`);
  return out;
}
