import { isObject, parseObject } from '../../../contract/json.ts';
import type { ListedItem } from '../../policy.ts';

/** Longest `anyOf` or `oneOf` that is read, and most steps of a `$ref`. Longer ones allow any type. */
const MOST_CHOICES = 20;
const MOST_STEPS = 10;

/** Types of JSON Schema that a tool declares for its arguments. An argument without an entry may have any type. */
export type DeclaredTypes = ReadonlyMap<string, ReadonlySet<string>>;

const NONE: DeclaredTypes = new Map();

/** Creates a function that returns the types of those arguments of an item that `isRead` accepts. Reads each item once. */
export function declaredTypes(isRead: (name: string) => boolean): (item: ListedItem) => DeclaredTypes {
  const known = new WeakMap<Buffer, DeclaredTypes>();
  return ({ kind, json }) => {
    if (kind !== 'tools' || !json) return NONE;
    let types = known.get(json);
    if (!types) known.set(json, (types = typesIn(json, isRead)));
    return types;
  };
}

function typesIn(json: Buffer, isRead: (name: string) => boolean): DeclaredTypes {
  const schema = parseObject(json.toString())?.['inputSchema'];
  const properties = isObject(schema) ? schema['properties'] : undefined;
  if (!isObject(properties)) return NONE;
  const found = new Map<string, ReadonlySet<string>>();
  for (const [name, property] of Object.entries(properties)) {
    const types = isRead(name) ? typesOf(property, schema) : undefined;
    if (types) found.set(name, new Set(types));
  }
  return found;
}

/** Returns undefined for a schema that may allow any type. Follows a `$ref` into `root` unless another one led here. */
function typesOf(schema: unknown, root: unknown, mayRefer = true): readonly string[] | undefined {
  if (!isObject(schema)) return undefined;
  const { type, $ref: ref } = schema;
  const choices = schema['anyOf'] ?? schema['oneOf'];
  if (typeof type === 'string') return [type];
  if (Array.isArray(type)) return type.filter((each) => typeof each === 'string');
  if (typeof ref === 'string') return mayRefer ? typesOf(targetOf(ref, root), root, false) : undefined;
  if (!Array.isArray(choices) || choices.length > MOST_CHOICES) return undefined;
  const types = choices.map((choice) => typesOf(choice, root, mayRefer));
  return types.every((each) => each !== undefined) ? types.flat() : undefined;
}

/** Returns the schema at a JSON pointer such as `#/$defs/Amount`. @see RFC 6901 §6 */
function targetOf(ref: string, root: unknown): unknown {
  const [start, ...steps] = ref.split('/', MOST_STEPS);
  if (start !== '#') return undefined;
  return steps.reduce<unknown>((at, step) => {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined;
    return (at as Record<string, unknown>)[key];
  }, root);
}
