import {
  byteAt,
  CLOSE_OBJECT,
  fail,
  isObjectSpan,
  LONGEST_CHARACTER,
  nextMember,
  OPEN_OBJECT,
  readKey,
  skipColon,
  skipKeyText,
  skipValue,
  skipWhitespace,
  isWordAt,
  visitMembers,
  wholeOf,
  type Span,
} from './json-walk.ts';

/** Maximum number of members of an object that the gateway reads. Objects of the MCP protocol have about ten. */
const MOST_MEMBERS = 1_000;

/** Keys that a scan looks for. */
export interface KnownKeys {
  readonly words: readonly Buffer[];
  /** The same as lenient readers fold them. */
  readonly folded: readonly Buffer[];
  /** Bytes of the longest of them with an escape for each character. */
  readonly longest: number;
}

/** Members that `scanKnown` looks for in one object, by index of `keys`. */
export interface KnownMembers {
  readonly keys: KnownKeys;
  readonly found: (Span | undefined)[];
  /** Members of the value at `index` of `keys`, read in the same pass if it is an object. */
  readonly inner: { readonly index: number; readonly members: KnownMembers } | undefined;
  /** Text of an object that is not read again where it is the value at `index` of `keys`. */
  readonly valid: ValidText | undefined;
}

/** JSON text of an object that has been read before, as the value of the same member. */
export interface ValidText {
  readonly index: number;
  readonly text: Buffer;
  isFound: boolean;
}

export const knownKeys = (...keys: string[]): KnownKeys => ({
  words: keys.map((key) => Buffer.from(key)),
  folded: keys.map((key) => Buffer.from(fold(key))),
  longest: Math.max(...keys.map((key) => Buffer.byteLength(key))) * LONGEST_CHARACTER,
});

/** All results have one hidden class: a second one slows every scan down. */
export const knownMembers = (keys: KnownKeys, inner?: KnownMembers['inner'], valid?: ValidText): KnownMembers => ({
  keys,
  found: new Array<Span | undefined>(keys.words.length),
  inner,
  valid,
});

/** Returns the index in `words` of the key between `start` and `end`, which exclude the quotes; -1 if there is none. */
function indexOfKey(text: Buffer, start: number, end: number, words: readonly Buffer[]): number {
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index];
    if (word && isWordAt(text, start, end, word)) return index;
  }
  return -1;
}

/**
 * Returns the index in `keys` of the key between `start` and `end`, which include the quotes; -1 if there is none. Throws `invalid`
 * for a known key with an escape or another case: one reader takes it for the known key, another does not.
 */
export function exactKey(text: Buffer, start: number, end: number, { words, folded, longest }: KnownKeys): number {
  const index = indexOfKey(text, start + 1, end - 1, words);
  if (index !== -1 || end - start - 2 > longest) return index;
  const key = Buffer.from(fold(readKey(text, start, end)));
  const meant = indexOfKey(key, 0, key.length, folded);
  if (meant !== -1) fail('invalid', `the key "${String(words[meant])}" has another spelling`);
  return -1;
}

/**
 * Finds the known members of the object at `at` and returns the offset after it. Throws `invalid` if a known key occurs twice or in
 * another spelling, and for an object with too many members. `outer` is the number of enclosing objects.
 */
export function scanKnown(text: Buffer, at: number, { keys, found, inner, valid }: KnownMembers, outer = 0): number {
  at = skipWhitespace(text, at + 1);
  if (byteAt(text, at) === CLOSE_OBJECT) return at + 1;
  for (let count = 1; ; count += 1) {
    if (count > MOST_MEMBERS) fail('invalid', `an object of the message has more than ${String(MOST_MEMBERS)} members`);
    const keyEnd = skipKeyText(text, at);
    const index = exactKey(text, at, keyEnd, keys);
    const start = skipColon(text, keyEnd);
    const isInner = inner !== undefined && index === inner.index && byteAt(text, start) === OPEN_OBJECT;
    if (index !== -1 && found[index] !== undefined) rejectRepeated(keys.words[index]);
    const end =
      endOfValid(text, start, index, valid) ??
      (isInner ? scanKnown(text, start, inner.members, outer + 1) : skipValue(text, start, outer + 1));
    if (index !== -1) found[index] = { start, end };
    at = skipWhitespace(text, end);
    if (byteAt(text, at) === CLOSE_OBJECT) return at + 1;
    at = nextMember(text, at);
  }
}

/** Returns the offset after `valid` when it is the value at `start`; `index` is that of the value's key. */
function endOfValid(text: Buffer, start: number, index: number, valid: ValidText | undefined): number | undefined {
  if (index !== valid?.index) return undefined;
  const end = start + valid.text.length;
  valid.isFound = end <= text.length && valid.text.compare(text, start, end) === 0;
  return valid.isFound ? end : undefined;
}

/** Folds case like the most lenient JSON readers: Go folds `ſ` to `s` and the Kelvin sign to `k`. */
export const fold = (key: string): string => key.toLowerCase().toUpperCase().toLowerCase();

/**
 * Returns the direct members of the object at `span`. Returns undefined for another value, for an object with two keys that are
 * equal or that lenient readers take for equal, and for one with too many members.
 */
export function distinctMembers(text: Buffer, span: Span): ReadonlyMap<string, Span> | undefined {
  if (!isObjectSpan(text, span)) return undefined;
  const members = new Map<string, Span>();
  const folded = new Set<string>();
  let count = 0;
  visitMembers(text, span, (keyStart, keyEnd, start, end) => {
    count += 1;
    if (count > MOST_MEMBERS) return false;
    const key = readKey(text, keyStart, keyEnd);
    members.set(key, { start, end });
    folded.add(fold(key));
    return folded.size === count;
  });
  return folded.size === count ? members : undefined;
}

/**
 * Returns the JSON text of each direct member of the object that `text` consists of; an empty text where `isRead` returns false.
 * Returns undefined where `distinctMembers` does.
 */
export function memberTexts(text: Buffer, isRead: (name: string) => boolean): ReadonlyMap<string, string> | undefined {
  const members = distinctMembers(text, wholeOf(text));
  if (!members) return undefined;
  const texts = new Map<string, string>();
  for (const [name, { start, end }] of members) texts.set(name, isRead(name) ? text.toString('utf8', start, end) : '');
  return texts;
}

/** Returns true for an object at `span` with too many members. */
export function hasTooManyMembers(text: Buffer, span: Span): boolean {
  let count = 0;
  if (isObjectSpan(text, span)) visitMembers(text, span, () => ++count <= MOST_MEMBERS);
  return count > MOST_MEMBERS;
}

export const rejectRepeated = (key: Buffer | undefined): never =>
  fail('invalid', `the key "${String(key)}" occurs twice`);
