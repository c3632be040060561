import {
  byteAt,
  CLOSE_OBJECT,
  fail,
  LONGEST_CHARACTER,
  nextMember,
  OPEN_OBJECT,
  readKey,
  skipColon,
  skipKeyText,
  skipValue,
  skipWhitespace,
  standsAt,
  type Span,
} from './json-walk.ts';

/** Objects whose members are read by name have no more members: those of the protocol have about ten. */
const MOST_MEMBERS = 1_000;

/** Members that `scanKnown` looks for in one object, by index of `keys`. */
export interface KnownMembers {
  /** In lower case. */
  readonly keys: readonly Buffer[];
  readonly found: (Span | undefined)[];
  /** Members of the member at `index` of `keys`, read in the same pass when it is an object. */
  readonly inner?: { readonly index: number; readonly members: KnownMembers } | undefined;
  /** Refuses another spelling of a known key even where the known key itself is absent. */
  readonly exact?: boolean;
}

export const knownKeys = (...keys: string[]): readonly Buffer[] => keys.map((key) => Buffer.from(key));

export const knownMembers = (keys: readonly Buffer[], inner?: KnownMembers['inner']): KnownMembers => ({
  keys,
  found: new Array<Span | undefined>(keys.length).fill(undefined),
  inner,
});

/** Index of the key between `start` and `end` (without its quotes) in `known`; -1 when it neither is nor folds to one. */
function indexOfKey(text: Buffer, start: number, end: number, known: readonly Buffer[]): number {
  for (let index = 0; index < known.length; index += 1) {
    const word = known[index];
    if (word && standsAt(text, start, end, word)) return index;
  }
  return -1;
}

/**
 * Index in `keys` of the key between `start` and `end`, quotes included; -1 when it is another one. An escape or a change
 * of case in a known key is refused as `invalid`: one reader takes it for the known key, another does not.
 */
export function exactKey(text: Buffer, start: number, end: number, keys: readonly Buffer[]): number {
  const index = indexOfKey(text, start + 1, end - 1, keys);
  if (index !== -1) return index;
  const folded = foldedKey(text, start, end, keys);
  if (folded !== 0) fail('invalid', `the key "${String(keys[31 - Math.clz32(folded)])}" is spelled in another way`);
  return -1;
}

/**
 * Finds the known members of the object at `at` and returns the offset behind it. A known key, or one that folds to it,
 * may stand once: a second spelling is refused as `invalid`, and so is an object of very many members. `outer` is the
 * number of objects around this one.
 */
export function scanKnown(text: Buffer, at: number, { keys, found, inner, exact }: KnownMembers, outer = 0): number {
  let folded = 0;
  at = skipWhitespace(text, at + 1);
  if (byteAt(text, at) === CLOSE_OBJECT) return at + 1;
  for (let count = 1; ; count += 1) {
    if (count > MOST_MEMBERS) fail('invalid', `an object of the message has more than ${String(MOST_MEMBERS)} members`);
    const keyEnd = skipKeyText(text, at);
    const index = exact ? exactKey(text, at, keyEnd, keys) : indexOfKey(text, at + 1, keyEnd - 1, keys);
    const start = skipColon(text, keyEnd);
    const isInner = inner !== undefined && index === inner.index && byteAt(text, start) === OPEN_OBJECT;
    if (index !== -1 && found[index] !== undefined) refuseTwice(keys[index]);
    const end = isInner ? scanKnown(text, start, inner.members, outer + 1) : skipValue(text, start, outer + 1);
    if (index !== -1) found[index] = { start, end };
    else if (!exact) folded |= foldedKey(text, at, keyEnd, keys);
    at = skipWhitespace(text, end);
    if (byteAt(text, at) === CLOSE_OBJECT) break;
    at = nextMember(text, at);
  }
  for (let index = 0; folded !== 0 && index < keys.length; index += 1) {
    if ((folded >> index) & 1 && found[index] !== undefined) refuseTwice(keys[index]);
  }
  return at + 1;
}

/** Case folding as wide as the widest JSON reader's (Go folds `ſ` to `s` and the Kelvin sign to `k`). */
const fold = (key: string): string => key.toLowerCase().toUpperCase().toLowerCase();

/** The bit of the known key that an unknown key folds to, 0 for none. Folding never makes a key shorter. */
function foldedKey(text: Buffer, start: number, end: number, known: readonly Buffer[]): number {
  if (!known.some(({ length }) => end - start - 2 <= length * LONGEST_CHARACTER)) return 0;
  const word = Buffer.from(fold(readKey(text, start, end)));
  const index = indexOfKey(word, 0, word.length, known);
  return index === -1 ? 0 : 1 << index;
}

export const refuseTwice = (key: Buffer | undefined): never => fail('invalid', `the key "${String(key)}" stands twice`);
