import { BACKSLASH, CLOSE_OBJECT, COLON, COMMA, fail, OPEN_OBJECT, QUOTE } from './json-walk.ts';

const LONGEST_KEY = 16;

const isSpace = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
const opens = (byte: number): boolean => byte === OPEN_OBJECT || byte === 0x5b;
const closes = (byte: number): boolean => byte === CLOSE_OBJECT || byte === 0x5d;

function indexOrEnd(piece: Buffer, byte: number, from: number): number {
  const index = piece.indexOf(byte, from);
  return index === -1 ? piece.length : index;
}

/**
 * Puts the client's id in place of ours in a JSON-RPC response that arrives in pieces, without holding the response.
 * Only the outermost object is read; what lies deeper passes as it is.
 */
export class ReplyRewriter {
  readonly #expectedId: string;
  readonly #clientId: Buffer;
  #depth = 0;
  #inString = false;
  #escaped = false;
  /** The next string of the outermost object is a key. */
  #keyComes = false;
  #readingKey = false;
  /** The key being read, or the one whose value comes. */
  #key = '';
  /** Our id as far as it was read. */
  #id: string | undefined;
  #sawId = false;
  #sawOutcome = false;
  #done = false;

  constructor(expectedId: string, clientId: Buffer) {
    this.#expectedId = expectedId;
    this.#clientId = clientId;
  }

  /** What can be sent on. Throws `ScanError` as soon as the text cannot be a response that carries our id. */
  push(piece: Buffer): Buffer {
    const parts: Buffer[] = [];
    let from = 0;
    // where the next ones stand: nearly all of a long reply is strings, which are skipped at the speed of memory
    let quote = -1;
    let backslash = -1;
    for (let at = 0; at < piece.length; at += 1) {
      if (this.#inString && !this.#readingKey && !this.#escaped) {
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

  /** Throws `ScanError` when what was pushed is not one whole response. */
  end(): void {
    if (!this.#done) fail('parse', 'the reply ends too early');
    if (!this.#sawId || !this.#sawOutcome) fail('invalid', 'the reply has no id or no result');
  }

  #stringByte(byte: number): void {
    if (this.#escaped) this.#escaped = false;
    else if (byte === BACKSLASH) this.#escaped = true;
    else if (byte === QUOTE) {
      this.#inString = false;
      if (this.#readingKey) this.#endKey();
      return;
    }
    if (this.#readingKey && this.#key.length < LONGEST_KEY) this.#key += String.fromCharCode(byte);
  }

  #endKey(): void {
    this.#readingKey = false;
    this.#keyComes = false;
    if (this.#key === 'result' || this.#key === 'error') this.#sawOutcome = true;
  }

  #startsId(byte: number): boolean {
    if (this.#id !== undefined || this.#key !== 'id' || this.#depth !== 1 || this.#keyComes) return false;
    return byte !== COLON && !isSpace(byte);
  }

  /** True while `byte` belongs to the id; behind it the id is checked. */
  #continuesId(byte: number): boolean {
    if (this.#id === undefined) return false;
    if (!isSpace(byte) && byte !== COMMA && byte !== CLOSE_OBJECT && this.#id.length <= this.#expectedId.length) {
      this.#id += String.fromCharCode(byte);
      return true;
    }
    if (this.#id !== this.#expectedId) fail('invalid', 'the reply carries another id');
    this.#sawId = true;
    this.#id = undefined;
    this.#key = '';
    return false;
  }

  #plainByte(byte: number): void {
    if (this.#done && !isSpace(byte)) fail('parse', 'there is text behind the reply');
    if (byte === QUOTE) {
      this.#inString = true;
      this.#readingKey = this.#depth === 1 && this.#keyComes;
      if (this.#readingKey) this.#key = '';
    } else if (opens(byte)) {
      if (this.#depth === 0 && byte !== OPEN_OBJECT) fail('invalid', 'the reply is not an object');
      this.#depth += 1;
      if (this.#depth === 1) this.#keyComes = true;
    } else if (closes(byte)) {
      this.#depth -= 1;
      if (this.#depth === 0) this.#done = true;
    } else if (byte === COMMA && this.#depth === 1) {
      this.#keyComes = true;
      this.#key = '';
    } else if (this.#depth === 0 && !isSpace(byte)) fail('parse', 'the reply is not JSON');
  }
}
