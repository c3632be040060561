import type { CedarValueJson } from '@cedar-policy/cedar-wasm/nodejs';
import type { ListedItem } from '../policy.ts';
import { scalarOf } from './claims.ts';
import { declaredTypes } from './declared-types.ts';
import { ARGUMENT } from './syntax.ts';

const PRESENT = '_present';

/** Attributes of `context` from the arguments of a call. */
export interface ReadArguments {
  readonly values: Readonly<Record<string, CedarValueJson>>;
  /** Name of an argument whose value has another type than the tool declares: a backend may convert it. */
  readonly mistyped: string | undefined;
}

/** Reads arguments of an item from the JSON text of each. */
export type ArgumentReader = (read: ReadonlyMap<string, string>, item: ListedItem) => ReadArguments | undefined;

/** Returns true for an argument whose text the reader for `wanted` reads. */
export const isArgumentRead = (wanted: ReadonlySet<string> | undefined, name: string): boolean =>
  !wanted || wanted.has(ARGUMENT + name) || wanted.has(ARGUMENT + name + PRESENT);

/**
 * Creates the reader of the attributes of `context` for the arguments that policies read: `arg_<name>` for text, whole numbers and
 * booleans, `arg_<name>_present` for other values. It returns undefined for arguments that a policy and a backend could read
 * differently: a number that is not exact, a value of another type than `arg_<name>` can hold, a name in another case, and the
 * argument `a_present`, whose attribute is also the flag of `a`. `wanted` is undefined for all arguments. Where a tool declares types,
 * its arguments must have them.
 */
export function argumentReader(wanted: ReadonlySet<string> | undefined): ArgumentReader {
  const folded = wanted && new Set([...wanted].map(fold));
  const typesOf = declaredTypes((name) => isArgumentRead(wanted, name));
  return (read, item) => {
    const values: Record<string, CedarValueJson> = {};
    let mistyped: string | undefined;
    for (const [name, text] of read) {
      const attribute = ARGUMENT + name;
      const flag = attribute + PRESENT;
      const isRead = wanted?.has(attribute) ?? true;
      const isFlagRead = wanted?.has(flag) ?? true;
      if (!isRead && !isFlagRead) {
        if (folded?.has(fold(attribute)) === true || folded?.has(fold(flag)) === true) return undefined;
        continue;
      }
      if (isRead && name.endsWith(PRESENT)) return undefined;
      const value: unknown = JSON.parse(text);
      const scalar = typeof value === 'number' && !isExact(value, text) ? undefined : scalarOf(value);
      if (scalar === undefined) {
        if (typeof value === 'number' || typeof value === 'string') return undefined;
        if (!isFlagRead) return undefined;
        values[flag] = true;
      } else if (isRead) values[attribute] = scalar;
      if (scalar !== undefined && !isOfType(scalar, typesOf(item).get(name))) mistyped ??= name;
    }
    return { values, mistyped };
  };
}

/** Returns true for a number that every reader reads alike: with more digits than a double holds it would be rounded. */
const isExact = (value: number, text: string): boolean =>
  /^-?\d{1,16}(?:\.0)?$/u.test(text) && Number.isSafeInteger(value);

const isOfType = (value: string | number | boolean, types: ReadonlySet<string> | undefined): boolean =>
  types === undefined || types.has(typeof value) || (typeof value === 'number' && types.has('integer'));

/** Folds case like the most lenient JSON readers. */
const fold = (key: string): string => key.toLowerCase().toUpperCase().toLowerCase();
