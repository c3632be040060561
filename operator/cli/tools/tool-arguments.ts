import { isObject, type JsonObject } from '../../../gateway/contract/json.ts';
import { closest } from '../../source/files/closest.ts';

/** Arguments of a call, or a sentence for the user. */
export type Arguments = { readonly args: JsonObject } | { readonly problem: string };

/** Parses the text of `--json`. */
export function parseJsonArguments(text: string): Arguments {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { problem: '--json is not valid JSON: write an object such as {"a": 1}' };
  }
  return isObject(value) ? { args: value } : { problem: '--json must be an object such as {"a": 1}' };
}

/** Adds `name=value` texts to `base`, converted to the types in the input schema of the tool. */
export function addArguments(base: JsonObject, texts: readonly string[], inputSchema: unknown): Arguments {
  const schema = isObject(inputSchema) ? inputSchema : {};
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  const added: [string, unknown][] = [];
  for (const text of texts) {
    const at = text.indexOf('=');
    if (at < 1) return { problem: `--arg ${text}: write NAME=VALUE` };
    const [name, value] = [text.slice(0, at), text.slice(at + 1)];
    if (!Object.hasOwn(properties, name) && schema['additionalProperties'] === false)
      return { problem: unknownName(name, Object.keys(properties)) };
    const converted = convert(value, typesOf(properties[name]));
    if ('mustBe' in converted) return { problem: `--arg ${name}: the value must be ${converted.mustBe}` };
    added.push([name, converted.value]);
  }
  const args = Object.fromEntries([...Object.entries(base), ...added]);
  const required: readonly unknown[] = Array.isArray(schema['required']) ? schema['required'] : [];
  const missing = required.filter((name): name is string => typeof name === 'string' && !Object.hasOwn(args, name));
  if (missing.length === 0) return { args };
  const options = missing.map((name) => `--arg ${name}=VALUE`).join(' ');
  return { problem: `the tool requires ${missing.join(', ')}: add ${options}` };
}

function unknownName(name: string, names: readonly string[]): string {
  const similar = closest(name, names);
  if (similar !== undefined) return `--arg ${name}: the tool has no such argument: did you mean ${similar}?`;
  return `--arg ${name}: the tool has no such argument: it has ${names.join(', ') || 'none'}`;
}

/** Returns the JSON types that a schema allows; none when it names no type. */
function typesOf(schema: unknown): ReadonlySet<unknown> {
  if (!isObject(schema)) return new Set();
  const alternatives = [schema['anyOf'], schema['oneOf']].filter((list) => Array.isArray(list)).flat();
  return new Set([schema['type'], ...alternatives.flatMap((each) => [...typesOf(each)])].flat().filter(Boolean));
}

type Converted = { readonly value: unknown } | { readonly mustBe: string };

/** Conversions by JSON type, in the order in which they are tried, and the words for a value that fits none. */
const CONVERSIONS: readonly (readonly [type: string, words: string, fits: (value: unknown) => boolean])[] = [
  ['integer', 'an integer', Number.isSafeInteger],
  ['number', 'a number', (value) => typeof value === 'number'],
  ['boolean', 'true or false', (value) => typeof value === 'boolean'],
  ['null', 'null', (value) => value === null],
  ['array', 'a list in JSON, such as ["a"]', Array.isArray],
  ['object', 'an object in JSON, such as {"a": 1}', isObject],
];

/** Converts a text to one of these types. A text that fits no other type is a string where strings are allowed. */
function convert(text: string, types: ReadonlySet<unknown>): Converted {
  const allowed = CONVERSIONS.filter(([type]) => types.has(type));
  const value = parsed(text);
  if (value !== undefined && allowed.some(([, , fits]) => fits(value))) return { value };
  if (types.has('string') || allowed.length === 0) return { value: text };
  return { mustBe: allowed.map(([, words]) => words).join(', or ') };
}

/** Returns undefined for a text that is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
