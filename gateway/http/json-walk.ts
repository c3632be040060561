/** Byte offsets of a value in the scanned text, `end` exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export type ScanFault = 'parse' | 'invalid' | 'batch';

/** The text is not the expected JSON. `message` is safe to send to its sender. */
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

/** After so many plain bytes of a string, the next ones are read four at a time. */
const LONG_STRING_BYTES = 256;
const MAX_DEPTH = 200;
export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
export const COMMA = 0x2c;
export const COLON = 0x3a;

/** Is 1 for each byte that needs no escape inside a string. */
const PLAIN = new Uint8Array(256).map((_, byte) => (byte >= 0x20 && byte !== QUOTE && byte !== BACKSLASH ? 1 : 0));
const HEX = new Uint8Array(256).map((_, byte) => (/^[0-9a-f]$/i.test(String.fromCharCode(byte)) ? 1 : 0));
const ESCAPED = new Uint8Array(256).map((_, byte) => ('"\\/bfnrt'.includes(String.fromCharCode(byte)) ? 1 : 0));

/** Returns the byte at `at`, or 0 after the end: a read out of bounds would make every later read slower. */
export const byteAt = (text: Buffer, at: number): number => (at < text.length ? (text[at] as number) : 0);

export function skipWhitespace(text: Buffer, at: number): number {
  for (;;) {
    const byte = byteAt(text, at);
    if (byte > 0x20 || !(byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09)) return at;
    at += 1;
  }
}

/** Returns the span of the value that a text consists of. */
export const wholeOf = (text: Buffer): Span => ({ start: skipWhitespace(text, 0), end: text.length });

export const isObjectSpan = (text: Buffer, span: Span): boolean => text[span.start] === OPEN_OBJECT;
export const isArraySpan = (text: Buffer, span: Span): boolean => text[span.start] === OPEN_ARRAY;

/** Returns the offset after the string that starts at `at`. */
function skipString(text: Buffer, at: number): number {
  let longFrom = at + LONG_STRING_BYTES;
  for (let pos = at + 1; pos < text.length;) {
    const byte = text[pos] as number;
    if (PLAIN[byte] === 1) {
      pos += 1;
      if (pos < longFrom || (text.byteOffset + pos) % 4 !== 0) continue;
      pos = skipPlainWords(text, pos);
      longFrom = pos + LONG_STRING_BYTES;
    } else if (byte === QUOTE) return pos + 1;
    else if (byte === BACKSLASH) pos = skipEscape(text, pos);
    else fail('parse', 'a string holds an unescaped control character');
  }
  return fail('parse', 'a string does not end');
}

/** Returns the offset of the first word (four bytes) from the aligned offset `at` that may contain a byte that is not plain. */
function skipPlainWords(text: Buffer, at: number): number {
  const words = new Int32Array(text.buffer, text.byteOffset + at, (text.length - at) >> 2);
  let index = 0;
  for (; index < words.length; index += 1) {
    const word = words[index] as number;
    const quotes = word ^ 0x22222222;
    const backslashes = word ^ 0x5c5c5c5c;
    // a byte below the subtracted one borrows into its highest bit; the complement keeps that bit for bytes below 0x80 only
    const borrowed =
      ((word - 0x20202020) & ~word) | ((quotes - 0x01010101) & ~quotes) | ((backslashes - 0x01010101) & ~backslashes);
    if ((borrowed & 0x80808080) !== 0) break;
  }
  return at + index * 4;
}

function skipEscape(text: Buffer, at: number): number {
  const kind = byteAt(text, at + 1);
  if (ESCAPED[kind] === 1) return at + 2;
  if (kind === 0x75) {
    for (let digit = at + 2; digit < at + 6; digit += 1)
      if (HEX[byteAt(text, digit)] !== 1) fail('parse', 'a \\u escape is broken');
    return at + 6;
  }
  return fail('parse', 'a string holds an unknown escape');
}

const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39;

function skipDigits(text: Buffer, at: number): number {
  if (!isDigit(byteAt(text, at))) fail('parse', 'a number is broken');
  do at += 1;
  while (isDigit(byteAt(text, at)));
  return at;
}

/** Returns the offset after the number that starts at `at`. @see RFC 8259 §6 */
function skipNumber(text: Buffer, at: number): number {
  let byte = byteAt(text, at);
  if (byte === 0x2d) byte = byteAt(text, ++at);
  at = byte === 0x30 ? at + 1 : skipDigits(text, at);
  byte = byteAt(text, at);
  if (byte === COMMA) return at;
  if (byte === 0x2e) {
    at = skipDigits(text, at + 1);
    byte = byteAt(text, at);
  }
  if (byte === 0x65 || byte === 0x45) {
    byte = byteAt(text, at + 1);
    at = skipDigits(text, byte === 0x2b || byte === 0x2d ? at + 2 : at + 1);
  }
  return at;
}

const LITERALS = ['true', 'false', 'null'].map((literal) => Buffer.from(literal));

export function isWordAt(text: Buffer, at: number, end: number, word: Buffer): boolean {
  if (end - at !== word.length || end > text.length) return false;
  for (let index = 0; index < word.length; index += 1) if (text[at + index] !== word[index]) return false;
  return true;
}

function skipLiteral(text: Buffer, at: number): number {
  for (const literal of LITERALS) if (isWordAt(text, at, at + literal.length, literal)) return at + literal.length;
  return fail('parse', at >= text.length ? 'the text ends too early' : `unexpected byte at offset ${String(at)}`);
}

function skipScalar(text: Buffer, at: number): number {
  const byte = byteAt(text, at);
  if (byte === QUOTE) return skipString(text, at);
  if (byte === 0x2d || isDigit(byte)) return skipNumber(text, at);
  return skipLiteral(text, at);
}

export function skipKeyText(text: Buffer, at: number): number {
  if (byteAt(text, at) !== QUOTE) fail('parse', 'an object key is missing');
  return skipString(text, at);
}

export function skipColon(text: Buffer, at: number): number {
  at = skipWhitespace(text, at);
  if (byteAt(text, at) !== COLON) fail('parse', 'a colon is missing');
  return skipWhitespace(text, at + 1);
}

/** Returns the offset of the value whose key starts at `at`. */
const skipKey = (text: Buffer, at: number): number => skipColon(text, skipKeyText(text, at));

/** Missing closing brackets of the value being skipped. Skips are synchronous, so that they can share one stack. */
const closers = new Uint8Array(MAX_DEPTH);

/**
 * Returns the offset after the value that starts at `at` inside `outer` objects. It does not recurse, so that deep values cannot
 * overflow the stack.
 */
export function skipValue(text: Buffer, at: number, outer = 0): number {
  let depth = outer;
  for (;;) {
    const byte = byteAt(text, at);
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      const closer = byte === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY;
      if (depth >= MAX_DEPTH) fail('invalid', `values are nested deeper than ${String(MAX_DEPTH)}`);
      at = skipWhitespace(text, at + 1);
      if (byteAt(text, at) !== closer) {
        closers[depth] = closer;
        depth += 1;
        if (closer === CLOSE_OBJECT) at = skipKey(text, at);
        continue;
      }
      at += 1;
    } else {
      at = skipScalar(text, at);
    }
    for (;;) {
      if (depth === outer) return at;
      const closer = closers[depth - 1] as number;
      at = skipWhitespace(text, at);
      const next = byteAt(text, at);
      if (next === COMMA) {
        at = skipWhitespace(text, at + 1);
        if (closer === CLOSE_OBJECT) at = skipKey(text, at);
        break;
      }
      if (next !== closer) fail('parse', 'a comma or a closing bracket is missing');
      depth -= 1;
      at += 1;
    }
  }
}

/** Longest encoding of one character of a key, a `\u` escape. */
export const LONGEST_CHARACTER = 6;

/** Returns the text of the key between `start` and `end`, which include the quotes. */
export function readKey(text: Buffer, start: number, end: number): string {
  const raw = text.toString('latin1', start + 1, end - 1);
  return /^[\x20-\x5b\x5d-\x7f]*$/.test(raw) ? raw : (JSON.parse(text.toString('utf8', start, end)) as string);
}

/** Returns the offset after the comma at `at` and the white space that follows. */
export function nextMember(text: Buffer, at: number): number {
  if (byteAt(text, at) !== COMMA) fail('parse', 'a comma or a closing bracket is missing');
  return skipWhitespace(text, at + 1);
}

/** Receives the offsets of a key, including quotes, and of its value. Returning false ends the visits. */
type Visit = (keyStart: number, keyEnd: number, start: number, end: number) => unknown;

/** Visits the members of the object at `span` in order. */
export function visitMembers(text: Buffer, span: Span, visit: Visit): void {
  let at = skipWhitespace(text, span.start + 1);
  if (byteAt(text, at) === CLOSE_OBJECT) return;
  for (;;) {
    const keyEnd = skipKeyText(text, at);
    const start = skipColon(text, keyEnd);
    const end = skipValue(text, start);
    if (visit(at, keyEnd, start, end) === false) return;
    at = skipWhitespace(text, end);
    if (byteAt(text, at) === CLOSE_OBJECT) return;
    at = nextMember(text, at);
  }
}

/** Returns the direct members of the object at `span`. The last of equal keys wins, as in JSON.parse. */
export function objectMembers(text: Buffer, span: Span): Map<string, Span> {
  const members = new Map<string, Span>();
  visitMembers(text, span, (keyStart, keyEnd, start, end) => {
    members.set(readKey(text, keyStart, keyEnd), { start, end });
  });
  return members;
}

/** Returns one direct member of the object at `span` by the rules of `objectMembers`. `key` is ASCII. */
export function memberOf(text: Buffer, span: Span | undefined, key: string): Span | undefined {
  if (span === undefined || !isObjectSpan(text, span)) return undefined;
  let found: Span | undefined;
  visitMembers(text, span, (keyStart, keyEnd, start, end) => {
    const length = keyEnd - keyStart - 2;
    if (length < key.length || length > key.length * LONGEST_CHARACTER) return;
    if (readKey(text, keyStart, keyEnd) === key) found = { start, end };
  });
  return found;
}

/** Returns those direct members of the object at `span` that `wanted` has, in one pass, by the rules of `objectMembers`. */
export function membersNamed(text: Buffer, span: Span, wanted: ReadonlyMap<string, unknown>): Map<string, Span> {
  const lengths = [...wanted.keys()].map((key) => Buffer.byteLength(key));
  const [shortest, longest] = [Math.min(...lengths), Math.max(...lengths) * LONGEST_CHARACTER];
  const found = new Map<string, Span>();
  visitMembers(text, span, (keyStart, keyEnd, start, end) => {
    const length = keyEnd - keyStart - 2;
    if (length < shortest || length > longest) return;
    const key = readKey(text, keyStart, keyEnd);
    if (wanted.has(key)) found.set(key, { start, end });
  });
  return found;
}

/** Returns the elements of the array at `span`. */
export function arrayElements(text: Buffer, span: Span): Span[] {
  const elements: Span[] = [];
  let at = skipWhitespace(text, span.start + 1);
  if (byteAt(text, at) === CLOSE_ARRAY) return elements;
  for (;;) {
    const end = skipValue(text, at);
    elements.push({ start: at, end });
    at = skipWhitespace(text, end);
    if (byteAt(text, at) === CLOSE_ARRAY) return elements;
    at = nextMember(text, at);
  }
}

/**
 * Returns the object at `span` with `key` set to the JSON text `value`, and every other byte unchanged. Of equal keys it sets the
 * last one, which readers use.
 */
export function withMember(text: Buffer, span: Span, key: string, value: string): Buffer {
  const present = memberOf(text, span, key);
  if (present) return splice(text, span, present, value);
  const inner = skipWhitespace(text, span.start + 1);
  const comma = byteAt(text, inner) === CLOSE_OBJECT ? '' : ',';
  return splice(text, span, { start: span.start + 1, end: span.start + 1 }, `${JSON.stringify(key)}:${value}${comma}`);
}

/** Returns the bytes of `whole` with those of `part` replaced. One allocation: each call of a tool comes through here. */
export function splice(text: Buffer, whole: Span, part: Span, value: string | Buffer): Buffer {
  const length = typeof value === 'string' ? Buffer.byteLength(value) : value.length;
  const before = part.start - whole.start;
  const out = Buffer.allocUnsafe(before + length + whole.end - part.end);
  text.copy(out, 0, whole.start, part.start);
  if (typeof value === 'string') out.write(value, before);
  else value.copy(out, before);
  text.copy(out, before + length, part.end, whole.end);
  return out;
}
