import { ENVELOPE_KEYS } from './json-scan.ts';
import {
  BACKSLASH,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  fail,
  LONGEST_CHARACTER,
  OPEN_OBJECT,
  QUOTE,
  skipKeyText,
} from './json-walk.ts';
import { exactKey, rejectRepeated } from './known-members.ts';

/** Indexes of `ENVELOPE_KEYS`. */
const VERSION = 0;
const ID = 1;
const METHOD = 2;
const RESULT = 4;
const ERROR = 5;

/** Longest encoding of a known key. A longer key is an unknown one. */
const LONGEST_KEY = Math.max(...ENVELOPE_KEYS.words.map(({ length }) => length)) * LONGEST_CHARACTER;

const isSpace = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
const opens = (byte: number): boolean => byte === OPEN_OBJECT || byte === 0x5b;
const closes = (byte: number): boolean => byte === CLOSE_OBJECT || byte === 0x5d;

function indexOrEnd(piece: Buffer, byte: number, from: number): number {
  const index = piece.indexOf(byte, from);
  return index === -1 ? piece.length : index;
}

/**
 * Replaces our id by the client's id in a JSON-RPC response that arrives in pieces, without buffering the response. Reads the
 * outermost object by the rules of `scanBackendEnvelope`; deeper values pass unread.
 */
export class ReplyRewriter {
  readonly #expectedId: string;
  readonly #clientId: Buffer;
  #depth = 0;
  #inString = false;
  #escaped = false;
  /** The next string of the outermost object is a key. */
  #isKeyNext = false;
  /** The next value is that of `#member`. */
  #isValueNext = false;
  /** Index of the last outermost key; -1 for an unknown key. */
  #member = -1;
  /** True while a string is collected in `#text`: a key, or the version. */
  #isCollecting = false;
  #text = '';
  /** Part of our id that has been read. */
  #id: string | undefined;
  /** Bit set of the envelope keys that have been read. */
  #seen = 0;
  #done = false;

  constructor(expectedId: string, clientId: Buffer) {
    this.#expectedId = expectedId;
    this.#clientId = clientId;
  }

  /** Returns the bytes to forward. Throws `ScanError` as soon as the text cannot be a response with our id. */
  push(piece: Buffer): Buffer {
    const parts: Buffer[] = [];
    let from = 0;
    // offsets of the next ones: long responses consist mostly of strings, which the native search skips
    let quote = -1;
    let backslash = -1;
    for (let at = 0; at < piece.length; at += 1) {
      if (this.#inString && !this.#isCollecting && !this.#escaped) {
        if (quote < at) quote = indexOrEnd(piece, QUOTE, at);
        if (backslash < at) backslash = indexOrEnd(piece, BACKSLASH, at);
        at = Math.min(quote, backslash);
        if (at === piece.length) break;
      }
      const byte = piece[at] ?? 0;
      if (this.#inString) this.#stringByte(byte);
      else if (this.#startsId(byte)) {
        parts.push(piece.subarray(from, at), this.#clientId);
        this.#id = String.fromCharCode(byte);
        from = at + 1;
      } else if (this.#continuesId(byte)) from = at + 1;
      else this.#plainByte(byte);
    }
    const rest = piece.subarray(from);
    return parts.length === 0 ? rest : Buffer.concat([...parts, rest]);
  }

  /** Throws `ScanError` unless the pushed text is one whole response. */
  end(): void {
    if (!this.#done) fail('parse', 'the reply ends too early');
    if (!this.#has(VERSION)) fail('invalid', '"jsonrpc" must be "2.0"');
    if (!this.#has(ID) || !(this.#has(RESULT) || this.#has(ERROR))) fail('invalid', 'the reply has no id or no result');
  }

  #has(member: number): boolean {
    return ((this.#seen >> member) & 1) === 1;
  }

  #stringByte(byte: number): void {
    if (this.#escaped) this.#escaped = false;
    else if (byte === BACKSLASH) this.#escaped = true;
    else if (byte === QUOTE) {
      this.#inString = false;
      if (this.#isCollecting) this.#endText();
      return;
    }
    if (this.#isCollecting && this.#text.length <= LONGEST_KEY) this.#text += String.fromCharCode(byte);
  }

  #endText(): void {
    this.#isCollecting = false;
    if (this.#isKeyNext) this.#endKey();
    else if (this.#text !== '2.0') fail('invalid', '"jsonrpc" must be "2.0"');
  }

  #endKey(): void {
    this.#isKeyNext = false;
    this.#isValueNext = true;
    this.#member = -1;
    if (this.#text.length > LONGEST_KEY) return;
    const key = Buffer.from(`"${this.#text}"`, 'latin1');
    this.#member = exactKey(key, 0, skipKeyText(key, 0), ENVELOPE_KEYS);
    if (this.#member === -1) return;
    if (this.#has(this.#member)) rejectRepeated(ENVELOPE_KEYS.words[this.#member]);
    this.#seen |= 1 << this.#member;
    if (this.#member === METHOD) fail('invalid', 'a response has no method');
    if (this.#has(RESULT) && this.#has(ERROR)) fail('invalid', 'the reply has a result and an error');
  }

  #startsId(byte: number): boolean {
    if (!this.#isValueNext || this.#member !== ID || byte === COLON || isSpace(byte)) return false;
    this.#isValueNext = false;
    return true;
  }

  /** Returns true while `byte` belongs to the id. Checks the id after its last byte. */
  #continuesId(byte: number): boolean {
    if (this.#id === undefined) return false;
    if (!isSpace(byte) && byte !== COMMA && byte !== CLOSE_OBJECT && this.#id.length <= this.#expectedId.length) {
      this.#id += String.fromCharCode(byte);
      return true;
    }
    if (this.#id !== this.#expectedId) fail('invalid', 'the reply carries another id');
    this.#id = undefined;
    return false;
  }

  #plainByte(byte: number): void {
    if (this.#done && !isSpace(byte)) fail('parse', 'there is text after the reply');
    if (this.#isValueNext && byte !== COLON && !isSpace(byte)) this.#startValue(byte);
    if (byte === QUOTE) {
      this.#inString = true;
      if (this.#depth === 1 && this.#isKeyNext) this.#isCollecting = true;
      if (this.#isCollecting) this.#text = '';
    } else if (opens(byte)) {
      if (this.#depth === 0 && byte !== OPEN_OBJECT) fail('invalid', 'the reply is not an object');
      this.#depth += 1;
      if (this.#depth === 1) this.#isKeyNext = true;
    } else if (closes(byte)) {
      this.#depth -= 1;
      if (this.#depth === 0) this.#done = true;
    } else if (byte === COMMA && this.#depth === 1) {
      this.#isKeyNext = true;
    } else if (this.#depth === 0 && !isSpace(byte)) fail('parse', 'the reply is not JSON');
  }

  /** Checks the type of a value of the envelope by its first byte. */
  #startValue(byte: number): void {
    this.#isValueNext = false;
    if (this.#member === VERSION) {
      if (byte !== QUOTE) fail('invalid', '"jsonrpc" must be "2.0"');
      this.#isCollecting = true;
    } else if ((this.#member === RESULT || this.#member === ERROR) && byte !== OPEN_OBJECT)
      fail('invalid', 'the result or the error is not an object');
  }
}
