import { isObject } from '../../../gateway/contract/json.ts';

/** Keywords of a TypeBox schema that are read together with a value. */
export interface Shape {
  readonly type?: string;
  readonly default?: unknown;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly patternProperties?: Readonly<Record<string, Shape>>;
  readonly items?: Shape;
  readonly required?: readonly string[];
  readonly enum?: readonly string[];
  readonly additionalProperties?: boolean;
  readonly pattern?: string;
  readonly 'x-kubernetes-list-type'?: string;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
}

/** Returns the schema of the values of a map, or undefined if the schema is not a map. */
export const mapValues = (shape: Shape): Shape | undefined => Object.values(shape.patternProperties ?? {})[0];

/** Returns a copy with defaults like the API server: for absent members of existing objects. */
export function defaulted(shape: Shape, value: unknown): unknown {
  if (Array.isArray(value)) {
    const { items } = shape;
    return items ? value.map((item: unknown) => defaulted(items, item)) : structuredClone(value);
  }
  if (!isObject(value)) return value;
  const free = mapValues(shape);
  const members = shape.properties ?? {};
  const copy = Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const declared = Object.hasOwn(members, name) ? members[name] : free;
      return [name, declared ? defaulted(declared, member) : structuredClone(member)];
    }),
  );
  for (const [name, member] of Object.entries(members)) {
    if (member.default !== undefined && copy[name] === undefined) copy[name] = defaulted(member, member.default);
  }
  return copy;
}

/** Returns a copy without members that are null, as the API server stores an object. Content that it does not check keeps them. */
export function withoutNulls(shape: Shape, value: unknown): unknown {
  if (Array.isArray(value)) {
    const { items } = shape;
    return items ? value.map((item: unknown) => withoutNulls(items, item)) : value;
  }
  if (!isObject(value)) return value;
  const free = mapValues(shape);
  const members = shape.properties ?? {};
  const kept = Object.entries(value).flatMap(([name, member]) => {
    const declared = Object.hasOwn(members, name) ? members[name] : free;
    if (declared === undefined) return [[name, member]];
    return member === null ? [] : [[name, withoutNulls(declared, member)]];
  });
  return Object.fromEntries(kept);
}
