import { quantityText } from './check.ts';
import { POD_TEMPLATE_TYPES, type FieldType, type ObjectType } from './types.ts';
import { isObject, type JsonObject } from '../../../gateway/contract/json.ts';

/**
 * Returns a pod template as the API server returns it: quantities in canonical form, empty members removed, but without
 * its defaults. Otherwise the template would differ from the object in the cluster for ever.
 */
export const canonicalTemplate = (template: JsonObject): JsonObject => object(template, typesOf('PodTemplateSpec'));

const typesOf = (name: string): ObjectType => POD_TEMPLATE_TYPES.get(name) ?? new Map<string, FieldType>();

function object(value: JsonObject, fields: ObjectType): JsonObject {
  const entries = Object.entries(value).flatMap(([name, content]) => {
    const type = fields.get(name);
    const canonical = type ? member(content, type) : content;
    return canonical === undefined ? [] : [[name, canonical] as const];
  });
  return Object.fromEntries(entries);
}

/** Returns a member in canonical form; undefined when the API server removes it. */
function member(value: unknown, type: FieldType): unknown {
  if (Array.isArray(value)) {
    return value.length === 0 ? undefined : value.map((item: unknown) => listItem(item, type.name));
  }
  const fields = POD_TEMPLATE_TYPES.get(type.name);
  if (fields && isObject(value)) return object(value, fields);
  switch (type.name) {
    case 'string':
      return value === '' ? undefined : value;
    case 'flag':
      return value === false ? undefined : value;
    case 'count':
      return value === 0 ? undefined : value;
    case 'quantity':
      return quantityText(value);
    case 'map':
      return isObject(value) && Object.keys(value).length === 0 ? undefined : value;
    case 'quantities':
      return isObject(value) ? quantities(value) : value;
    default:
      return value;
  }
}

const listItem = (item: unknown, type: string): unknown => (isObject(item) ? object(item, typesOf(type)) : item);

function quantities(value: JsonObject): JsonObject | undefined {
  const entries = Object.entries(value).map(([name, quantity]) => [name, quantityText(quantity)] as const);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
