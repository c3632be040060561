/** Byte offsets of a value in the scanned text, `end` exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export type ScanFault = 'parse' | 'invalid' | 'batch';

/** The text is not what the reader asked for; `message` is safe to send to whoever sent the text. */
export class ScanError extends Error {
  readonly fault: ScanFault;
  constructor(fault: ScanFault, message: string) {
    super(message);
    this.name = 'ScanError';
    this.fault = fault;
  }
}

export function fail(fault: ScanFault, message: string): never {
  throw new ScanError(fault, message);
}

const MAX_DEPTH = 200;
export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
export const COMMA = 0x2c;
export const COLON = 0x3a;

/** One entry per byte: 1 = may stand unescaped inside a string. */
const PLAIN = new Uint8Array(256).map((_, byte) => (byte >= 0x20 && byte !== QUOTE && byte !== BACKSLASH ? 1 : 0));
const HEX = new Uint8Array(256).map((_, byte) => (/^[0-9a-f]$/i.test(String.fromCharCode(byte)) ? 1 : 0));
const ESCAPED = new Uint8Array(256).map((_, byte) => ('"\\/bfnrt'.includes(String.fromCharCode(byte)) ? 1 : 0));

export function skipWhitespace(text: Buffer, at: number): number {
  let byte = text[at];
  while (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) byte = text[++at];
  return at;
}

export const isObject = (text: Buffer, span: Span): boolean => text[span.start] === OPEN_OBJECT;
export const isArray = (text: Buffer, span: Span): boolean => text[span.start] === OPEN_ARRAY;

/** Offset behind the string that starts at `at`. */
function skipString(text: Buffer, at: number): number {
  for (let pos = at + 1; pos < text.length;) {
    const byte = text[pos] as number;
    if (PLAIN[byte] === 1) pos += 1;
    else if (byte === QUOTE) return pos + 1;
    else if (byte === BACKSLASH) pos = skipEscape(text, pos);
    else fail('parse', 'a string holds an unescaped control character');
  }
  return fail('parse', 'a string does not end');
}

function skipEscape(text: Buffer, at: number): number {
  const kind = text[at + 1] ?? 0;
  if (ESCAPED[kind] === 1) return at + 2;
  if (kind === 0x75) {
    for (let digit = at + 2; digit < at + 6; digit += 1)
      if (HEX[text[digit] ?? 0] !== 1) fail('parse', 'a \\u escape is broken');
    return at + 6;
  }
  return fail('parse', 'a string holds an unknown escape');
}

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39;

function skipDigits(text: Buffer, at: number): number {
  if (!isDigit(text[at])) fail('parse', 'a number is broken');
  while (isDigit(text[at])) at += 1;
  return at;
}

/** RFC 8259 §6. */
function skipNumber(text: Buffer, at: number): number {
  if (text[at] === 0x2d) at += 1;
  at = text[at] === 0x30 ? at + 1 : skipDigits(text, at);
  if (text[at] === 0x2e) at = skipDigits(text, at + 1);
  if (text[at] === 0x65 || text[at] === 0x45) {
    at += 1;
    if (text[at] === 0x2b || text[at] === 0x2d) at += 1;
    at = skipDigits(text, at);
  }
  return at;
}

const LITERALS = ['true', 'false', 'null'].map((literal) => Buffer.from(literal));

function standsAt(text: Buffer, at: number, end: number, word: Buffer): boolean {
  if (end - at !== word.length || end > text.length) return false;
  for (let index = 0; index < word.length; index += 1) if (text[at + index] !== word[index]) return false;
  return true;
}

function skipLiteral(text: Buffer, at: number): number {
  for (const literal of LITERALS) if (standsAt(text, at, at + literal.length, literal)) return at + literal.length;
  return fail('parse', at >= text.length ? 'the text ends too early' : `unexpected byte at offset ${String(at)}`);
}

function skipScalar(text: Buffer, at: number): number {
  const byte = text[at] ?? 0;
  if (byte === QUOTE) return skipString(text, at);
  if (byte === 0x2d || isDigit(byte)) return skipNumber(text, at);
  return skipLiteral(text, at);
}

function skipKeyText(text: Buffer, at: number): number {
  if (text[at] !== QUOTE) fail('parse', 'an object key is missing');
  return skipString(text, at);
}

function skipColon(text: Buffer, at: number): number {
  at = skipWhitespace(text, at);
  if (text[at] !== COLON) fail('parse', 'a colon is missing');
  return skipWhitespace(text, at + 1);
}

/** Offset of the value behind the key that starts at `at`. */
const skipKey = (text: Buffer, at: number): number => skipColon(text, skipKeyText(text, at));

/** Offset behind the value that starts at `at`; without recursion, so that depth costs no stack. */
export function skipValue(text: Buffer, at: number): number {
  const closers: number[] = [];
  for (;;) {
    const byte = text[at];
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      const closer = byte === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY;
      if (closers.length >= MAX_DEPTH) fail('invalid', `values are nested deeper than ${String(MAX_DEPTH)}`);
      at = skipWhitespace(text, at + 1);
      if (text[at] !== closer) {
        closers.push(closer);
        if (closer === CLOSE_OBJECT) at = skipKey(text, at);
        continue;
      }
      at += 1;
    } else {
      at = skipScalar(text, at);
    }
    for (;;) {
      const closer = closers.at(-1);
      if (closer === undefined) return at;
      at = skipWhitespace(text, at);
      if (text[at] === COMMA) {
        at = skipWhitespace(text, at + 1);
        if (closer === CLOSE_OBJECT) at = skipKey(text, at);
        break;
      }
      if (text[at] !== closer) fail('parse', 'a comma or a closing bracket is missing');
      closers.pop();
      at += 1;
    }
  }
}

/** Case folding as wide as the widest JSON reader's (Go folds `ſ` to `s` and the Kelvin sign to `k`). */
const fold = (key: string): string => key.toLowerCase().toUpperCase().toLowerCase();

function readKey(text: Buffer, start: number, end: number): string {
  const raw = text.toString('latin1', start + 1, end - 1);
  return /^[\x20-\x5b\x5d-\x7f]*$/.test(raw) ? raw : (JSON.parse(text.toString('utf8', start, end)) as string);
}

/** Keys that `scanKnown` looks for, in lower case. */
export const knownKeys = (...keys: string[]): readonly Buffer[] => keys.map((key) => Buffer.from(key));

/** Index of the key between `start` and `end` (without its quotes) in `known`; -1 when it neither is nor folds to one. */
function indexOfKey(text: Buffer, start: number, end: number, known: readonly Buffer[]): number {
  for (let index = 0; index < known.length; index += 1) {
    const word = known[index];
    if (word && standsAt(text, start, end, word)) return index;
  }
  return -1;
}

/**
 * Puts the values of the `known` members of the object at `at` into `found`, by index, and returns the offset behind it.
 * A key of `known`, or one that folds to it, may stand once: a second spelling is refused as `invalid`.
 */
export function scanKnown(text: Buffer, at: number, known: readonly Buffer[], found: (Span | undefined)[]): number {
  let folded = 0;
  at = skipWhitespace(text, at + 1);
  if (text[at] === CLOSE_OBJECT) return at + 1;
  for (;;) {
    const keyEnd = skipKeyText(text, at);
    const index = indexOfKey(text, at + 1, keyEnd - 1, known);
    const start = skipColon(text, keyEnd);
    const end = skipValue(text, start);
    if (index === -1) folded |= foldedKey(text, at, keyEnd, known);
    else if (found[index] === undefined) found[index] = { start, end };
    else refuseTwice(known[index]);
    at = skipWhitespace(text, end);
    if (text[at] === CLOSE_OBJECT) break;
    if (text[at] !== COMMA) fail('parse', 'a comma or a closing bracket is missing');
    at = skipWhitespace(text, at + 1);
  }
  for (let index = 0; folded !== 0 && index < known.length; index += 1) {
    if ((folded >> index) & 1 && found[index] !== undefined) refuseTwice(known[index]);
  }
  return at + 1;
}

/** The bit of the known key that an unknown key folds to, 0 for none. */
function foldedKey(text: Buffer, start: number, end: number, known: readonly Buffer[]): number {
  const word = Buffer.from(fold(readKey(text, start, end)));
  const index = indexOfKey(word, 0, word.length, known);
  return index === -1 ? 0 : 1 << index;
}

const refuseTwice = (key: Buffer | undefined): never => fail('invalid', `the key "${String(key)}" stands twice`);

/** The direct members of the object at `span`; of equal keys the last one counts, as in JSON.parse. */
export function objectMembers(text: Buffer, span: Span): Map<string, Span> {
  const members = new Map<string, Span>();
  let at = skipWhitespace(text, span.start + 1);
  if (text[at] === CLOSE_OBJECT) return members;
  for (;;) {
    const keyEnd = skipKeyText(text, at);
    const start = skipColon(text, keyEnd);
    const end = skipValue(text, start);
    members.set(readKey(text, at, keyEnd), { start, end });
    at = skipWhitespace(text, end);
    if (text[at] === CLOSE_OBJECT) return members;
    if (text[at] !== COMMA) fail('parse', 'a comma or a closing bracket is missing');
    at = skipWhitespace(text, at + 1);
  }
}

/** The elements of the array at `span`. */
export function arrayElements(text: Buffer, span: Span): Span[] {
  const elements: Span[] = [];
  let at = skipWhitespace(text, span.start + 1);
  if (text[at] === CLOSE_ARRAY) return elements;
  for (;;) {
    const end = skipValue(text, at);
    elements.push({ start: at, end });
    at = skipWhitespace(text, end);
    if (text[at] === CLOSE_ARRAY) return elements;
    if (text[at] !== COMMA) fail('parse', 'a comma or a closing bracket is missing');
    at = skipWhitespace(text, at + 1);
  }
}

/**
 * The object at `span` with `key` set to the JSON text `value`; every other byte stays. A key that stands more than once
 * is set in its last place, the one readers take.
 */
export function withMember(text: Buffer, span: Span, key: string, value: string): Buffer {
  const present = objectMembers(text, span).get(key);
  if (present) return splice(text, span, present, value);
  const inner = skipWhitespace(text, span.start + 1);
  const comma = text[inner] === CLOSE_OBJECT ? '' : ',';
  return splice(text, span, { start: span.start + 1, end: span.start + 1 }, `${JSON.stringify(key)}:${value}${comma}`);
}

/** The bytes of `whole` with those of `part` replaced. */
export function splice(text: Buffer, whole: Span, part: Span, value: string | Buffer): Buffer {
  const middle = typeof value === 'string' ? Buffer.from(value) : value;
  return Buffer.concat([text.subarray(whole.start, part.start), middle, text.subarray(part.end, whole.end)]);
}
