import type { CedarValueJson } from '@cedar-policy/cedar-wasm/nodejs';
import type { ListedItem } from '../../policy.ts';
import { scalarOf } from '../claims.ts';
import { CEILING, DECIMAL, FLOOR, REST } from './comparisons.ts';
import { declaredTypes } from './declared-types.ts';
import { exactNumber, type ExactNumber } from './exact-number.ts';
import { ARGUMENT } from '../syntax.ts';

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
