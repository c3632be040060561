/** The members of a JSON Schema that decide where keys belong. */
export interface NamedNode {
  readonly type?: unknown;
  readonly enum?: unknown;
  readonly properties?: Readonly<Record<string, NamedNode>>;
  readonly patternProperties?: Readonly<Record<string, NamedNode>>;
  readonly items?: NamedNode;
}

type Properties = Readonly<Record<string, NamedNode>>;

const NONE: Properties = {};

/** Returns a JSON value with the keys of a schema: a key counts in any case, and null counts as absent. Pure. */
export function withDeclaredNames(value: unknown, schema: NamedNode | undefined): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => withDeclaredNames(item, schema?.items));
  const { properties = NONE, patternProperties = NONE } = schema ?? {};
  const [ofOthers] = Object.values(patternProperties);
  const names = namesOf(properties);
  const present = Object.entries(value).filter(([, member]) => member !== null);
  const named = present.map(([key, member]): [string, unknown] => {
    const name = Object.hasOwn(properties, key) ? key : (names.get(key.toLowerCase()) ?? key);
    return [name, withDeclaredNames(member, Object.hasOwn(properties, name) ? properties[name] : ofOthers)];
  });
  return Object.fromEntries(named);
}

/** Names by their lower-case form, for each schema: a body may hold many objects of one. */
const known = new WeakMap<Properties, ReadonlyMap<string, string>>();

function namesOf(properties: Properties): ReadonlyMap<string, string> {
  let names = known.get(properties);
  if (!names) {
    names = new Map(Object.keys(properties).map((name) => [name.toLowerCase(), name]));
    known.set(properties, names);
  }
  return names;
}
