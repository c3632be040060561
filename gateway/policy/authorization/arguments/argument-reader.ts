import type { CedarValueJson } from '@cedar-policy/cedar-wasm/nodejs';
import type { ListedItem } from '../../policy.ts';
import { scalarOf } from '../claims.ts';
import { CEILING, DECIMAL, FLOOR, REST } from './comparisons.ts';
import { ARGUMENT } from '../syntax.ts';
import { isObject, parseObject } from '../../../contract/json.ts';

/** A number in the forms that policies compare. */
interface ExactNumber {
  /** A whole number as itself, a fraction as a Cedar `decimal`, and a fraction of more than four digits as a record. */
  readonly value: CedarValueJson;
  /** Largest whole number that is not above it. */
  readonly floor: number;
  /** Smallest whole number that is not below it. */
  readonly ceiling: number;
  /** Difference to `floor` in units of 10^-15; undefined for smaller digits. */
  readonly rest: number | undefined;
  /** The number as a Cedar `decimal`; undefined where that type cannot hold it. */
  readonly decimal: CedarValueJson | undefined;
}

/** Longest number that is read: without an exponent, and with a bound, since clients choose it. */
const NUMBER = /^(-?)(\d{1,16})(?:\.(\d{1,40}))?$/u;
/** A double holds every number of so many digits exactly. */
const EXACT_DIGITS = 15;
const REST_DIGITS = 15;
/** Digits after the point, and whole part, of a Cedar `decimal`: a multiple of 10^-4 in 64 bits. */
const DECIMAL_DIGITS = 4;
const MAX_DECIMAL = 922_337_203_685_476;

/**
 * Reads the JSON text of a number. Returns undefined for one that readers of JSON could take for different numbers: with an
 * exponent, or with more digits than a double holds.
 */
function exactNumber(text: string): ExactNumber | undefined {
  const [, sign = '', whole = '', digits = ''] = NUMBER.exec(text) ?? [];
  if (whole === '') return undefined;
  const fraction = digits.replace(/(?<!0)0+$/u, '');
  const number = Number(text);
  return fraction === '' ? wholeNumber(number) : fractional(number, sign, whole, fraction);
}

function wholeNumber(number: number): ExactNumber | undefined {
  if (!Number.isSafeInteger(number)) return undefined;
  const value = number + 0; // no negative zero
  return { value, floor: value, ceiling: value, rest: 0, decimal: decimalOf(value, `${String(value)}.0`) };
}

function fractional(number: number, sign: string, whole: string, fraction: string): ExactNumber | undefined {
  const text = `${sign}${whole}.${fraction}`;
  const digits = `${whole}${fraction}`.replace(/^0+/u, '').length;
  if (digits > EXACT_DIGITS && String(number) !== text) return undefined;
  const decimal = fraction.length > DECIMAL_DIGITS ? undefined : decimalOf(number, text);
  const rest = fraction.length > REST_DIGITS ? undefined : Number(fraction.padEnd(REST_DIGITS, '0'));
  return {
    value: decimal ?? { number: text },
    floor: Math.floor(number),
    ceiling: Math.ceil(number) + 0,
    rest: rest === undefined || sign === '' ? rest : 10 ** REST_DIGITS - rest,
    decimal,
  };
}

const decimalOf = (number: number, text: string): CedarValueJson | undefined =>
  Math.abs(number) > MAX_DECIMAL ? undefined : { __extn: { fn: 'decimal', arg: text } };

/** Longest `anyOf` or `oneOf` that is read, and most steps of a `$ref`. A longer schema allows any type. */
const MOST_CHOICES = 20;
const MOST_STEPS = 10;

/** Types of JSON Schema that a tool declares for its arguments. An argument without an entry may have any type. */
type DeclaredTypes = ReadonlyMap<string, ReadonlySet<string>>;

const NONE: DeclaredTypes = new Map();

/** Creates a function that returns the types of those arguments of an item that `isRead` accepts. Reads each item once. */
function declaredTypes(isRead: (name: string) => boolean): (item: ListedItem) => DeclaredTypes {
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

/** Returns undefined for a schema that may allow any type. Follows a `$ref` into `root` unless another `$ref` led here. */
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

const PRESENT = '_present';
/** Prefixes of the attributes of an argument. */
const PREFIXES = [ARGUMENT, FLOOR, CEILING, REST, DECIMAL];

/** Names of arguments; undefined for all of them. */
export type ArgumentNames = ReadonlySet<string> | undefined;

/** Attributes of `context` from the arguments of a call. Names are folded. */
export interface ReadArguments {
  readonly values: Readonly<Record<string, CedarValueJson>>;
  /** Arguments that a policy and a backend could read differently. */
  readonly unreadable: ReadonlySet<string>;
  /** Arguments whose value has another type than the tool declares, with their names in the call: a backend may convert it. */
  readonly mistyped: ReadonlyMap<string, string>;
}

/** Reads arguments of an item from the JSON text of each. */
export type ArgumentReader = (read: ReadonlyMap<string, string>, item: ListedItem) => ReadArguments;

/** Returns the arguments that these attributes of `context` come from: `arg_a_present` is that of `a_present`, and the flag of `a`. */
export function argumentsRead(attributes: ReadonlySet<string> | undefined): ArgumentNames {
  if (!attributes) return undefined;
  const names = [...attributes].flatMap((attribute) => {
    const prefix = PREFIXES.find((each) => attribute.startsWith(each));
    if (prefix === undefined) return [];
    const name = attribute.slice(prefix.length);
    return name.endsWith(PRESENT) ? [name, name.slice(0, -PRESENT.length)] : [name];
  });
  return new Set(names);
}

/** Returns these names in the folded case in which `ReadArguments` has them. */
export const foldedNames = (names: ArgumentNames): ArgumentNames => names && new Set([...names].map(fold));

/**
 * Creates the reader of the attributes of `context` for the arguments that policies read: `arg_<name>` for text, numbers and
 * booleans, `arg_<name>_present` for other values. Unreadable are a number that is not exact, a value of another type than
 * `arg_<name>` can hold, a name in another case, and the argument `a_present`, whose attribute is also the flag of `a`. `wanted` is
 * undefined for all attributes.
 */
export function argumentReader(wanted: ReadonlySet<string> | undefined): ArgumentReader {
  const names = argumentsRead(wanted);
  const folded = foldedNames(names);
  const isWanted = (attribute: string): boolean => wanted?.has(attribute) ?? true;
  const typesOf = declaredTypes((name) => names?.has(name) ?? true);
  return (read, item) => {
    const values: Record<string, CedarValueJson> = {};
    const unreadable = new Set<string>();
    const mistyped = new Map<string, string>();
    for (const [name, text] of read) {
      if (names?.has(name) === false) {
        if (folded?.has(fold(name)) === true) unreadable.add(fold(name));
        continue;
      }
      const fault = readArgument(values, name, text, isWanted, typesOf(item).get(name));
      if (fault === 'unreadable') unreadable.add(fold(name));
      else if (fault === 'mistyped') mistyped.set(fold(name), name);
    }
    return { values, unreadable, mistyped };
  };
}

/** Adds the attributes of an argument to `values`. Returns what is wrong with it. */
function readArgument(
  values: Record<string, CedarValueJson>,
  name: string,
  text: string,
  isWanted: (attribute: string) => boolean,
  types: ReadonlySet<string> | undefined,
): 'unreadable' | 'mistyped' | undefined {
  const flag = ARGUMENT + name + PRESENT;
  if (name.endsWith(PRESENT) && isWanted(ARGUMENT + name)) return 'unreadable';
  const value: unknown = JSON.parse(text);
  if (typeof value === 'number') {
    const number = exactNumber(text);
    if (number === undefined) return 'unreadable';
    addForms(values, name, formsOf(number), isWanted);
    const type = number.floor === number.ceiling ? 'integer' : 'number';
    return types === undefined || types.has('number') || types.has(type) ? undefined : 'mistyped';
  }
  const scalar = scalarOf(value);
  if (scalar === undefined) {
    if (typeof value === 'string' || !isWanted(flag)) return 'unreadable';
    values[flag] = true;
    return undefined;
  }
  // in the place of a number, so that a comparison fails with the message of its type
  addForms(values, name, [scalar, scalar, scalar, scalar, scalar], isWanted);
  return types === undefined || types.has(typeof scalar) ? undefined : 'mistyped';
}

/** Values by the order of `PREFIXES`. */
type Forms = readonly (CedarValueJson | undefined)[];

const formsOf = ({ value, floor, ceiling, rest, decimal }: ExactNumber): Forms => [
  value,
  floor,
  ceiling,
  rest,
  decimal,
];

function addForms(
  values: Record<string, CedarValueJson>,
  name: string,
  forms: Forms,
  isWanted: (attribute: string) => boolean,
): void {
  for (let index = 0; index < PREFIXES.length; index += 1) {
    const attribute = (PREFIXES[index] ?? '') + name;
    const form = forms[index];
    if (form !== undefined && isWanted(attribute)) values[attribute] = form;
  }
}

/** Folds case like the most lenient JSON readers. */
const fold = (key: string): string => key.toLowerCase().toUpperCase().toLowerCase();
