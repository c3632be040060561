import type { TSchema } from 'typebox';
import { skipValue, skipWhitespace } from '../../http/json-walk.ts';

/**
 * Returns the first JSON value of a text in the shape of the schema, as lenient clients expect: a key counts in any case, null
 * counts as absent, and text after the value is ignored. Throws `SyntaxError`, and `ScanError` for values nested too deeply.
 */
export function parseLeniently(text: string, schema: TSchema): unknown {
  const bytes = Buffer.from(text);
  const end = skipValue(bytes, skipWhitespace(bytes, 0));
  return fitted(JSON.parse(bytes.toString('utf8', 0, end)), schema);
}

/** The members of a JSON Schema that decide where keys belong. */
interface SchemaNode {
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly patternProperties?: Readonly<Record<string, SchemaNode>>;
  readonly items?: SchemaNode;
}

function fitted(value: unknown, schema: SchemaNode | undefined): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => fitted(item, schema?.items));
  const { properties = {}, patternProperties = {} } = schema ?? {};
  const [ofOthers] = Object.values(patternProperties);
  const names = new Map(Object.keys(properties).map((name) => [name.toLowerCase(), name]));
  const present = Object.entries(value).filter(([, member]) => member !== null);
  const named = present.map(([key, member]): [string, unknown] => {
    const name = Object.hasOwn(properties, key) ? key : (names.get(key.toLowerCase()) ?? key);
    return [name, fitted(member, Object.hasOwn(properties, name) ? properties[name] : ofOthers)];
  });
  return Object.fromEntries(named);
}
