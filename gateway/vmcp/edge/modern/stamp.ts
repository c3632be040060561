import { methodOf } from '../../../contract/protocol/methods.ts';
import { readString, scanBackendEnvelope } from '../../../http/json-scan.ts';
import {
  BACKSLASH,
  byteAt,
  CLOSE_OBJECT,
  COMMA,
  isObjectSpan,
  isWordAt,
  memberOf,
  OPEN_OBJECT,
  QUOTE,
  skipColon,
  skipKeyText,
  skipValue,
  skipWhitespace,
  splice,
  wholeOf,
  withMember,
  type Span,
} from '../../../http/json-walk.ts';
import { shortText } from '../../../http/short-text.ts';
import { NOT_CACHED, type CacheHint } from '../../aggregation/cache-hint.ts';
import { SERVER_INFO } from '../../../contract/protocol/revisions.ts';
import { CODE } from '../../error-codes.ts';
import { COMPLETE_TYPE, completeTypeAt, isPlain } from '../../transport/modern/result-text.ts';

const RESULT_TYPE = Buffer.from('"resultType"');
const META_KEY = Buffer.from('"_meta"');
const RESULT_FIRST = Buffer.from('{"result":{');
const ID_FIRST = Buffer.from('{"jsonrpc":"2.0","id":');
const RESULT_AFTER_ID = Buffer.from(',"result":{');
const NAMED_META = `"_meta":{${JSON.stringify(SERVER_INFO)}:`;
/** Ends of a reply behind the last member of `_meta`, when that is the last member of the result. */
const RESULT_LAST = '}}}';
const RESULT_BEFORE_ID = '}},"jsonrpc":"2.0","id":';

/** Writes what a client of the revision without sessions expects into results. They name the gateway, not the backend. */
export class Stamp {
  readonly #serverInfo: string;
  /** The same, each byte as one character. */
  readonly #serverInfoText: string;
  readonly #withMeta = new Map<string, string>();

  /** `serverInfo` is JSON text. */
  constructor(serverInfo: string) {
    this.#serverInfo = serverInfo;
    this.#serverInfoText = Buffer.from(serverInfo).toString('latin1');
  }

  /** Returns the result with `resultType`, the server's name and for some methods a `CacheHint`. JSON text of an object. */
  result(result: Buffer, method: string, hint: CacheHint): Buffer {
    if (result.includes(RESULT_TYPE) && memberOf(result, wholeOf(result), 'resultType')) return result;
    return this.#stamped(result, wholeOf(result), method, hint);
  }

  /**
   * Returns a whole reply with a stamped result: as text, each byte as one character, if it is short and usual. `id` is the
   * JSON text of its id.
   */
  reply(message: Buffer, id: Buffer, method: string): Buffer | string {
    const open = openOf(message, id);
    const text = shortText(message);
    if (text === undefined) {
      const isUsual = open !== undefined && !message.includes(RESULT_TYPE) && !message.includes(META_KEY);
      return isUsual ? this.#insert(message, open, method, NOT_CACHED) : this.#scanned(message, method);
    }
    if (open === undefined) return this.#scanned(message, method);
    if (!isPlain(text)) return this.#renamed(message, text, id, method) ?? this.#scanned(message, method);
    return text.slice(0, open) + this.#membersAt(message, open, method, NOT_CACHED) + text.slice(open);
  }

  /**
   * Replaces the name of the backend where servers of the revision write it: `_meta` is the last member of a complete result and has
   * no other members. Returns undefined for a result that must be scanned. `text` has each byte of `message` as one character.
   */
  #renamed(message: Buffer, text: string, id: Buffer, method: string): string | undefined {
    const type = completeTypeAt(text);
    const meta = type === -1 ? -1 : text.indexOf(NAMED_META, type);
    if (meta === -1 || methodOf(method).hint) return undefined;
    const start = meta + NAMED_META.length;
    if (byteAt(message, start) !== OPEN_OBJECT) return undefined;
    const end = skipValue(message, start);
    if (!endsWithResult(message, text, end, id) || !leadsTo(message, type, meta)) return undefined;
    return text.slice(0, start) + this.#serverInfoText + text.slice(end);
  }

  #scanned(message: Buffer, method: string): Buffer {
    const { result, error } = scanBackendEnvelope(message);
    if (error) return withNewCode(message, error);
    if (!result || !isObjectSpan(message, result)) return message;
    const type = memberOf(message, result, 'resultType');
    if (!type) return this.#stamped(message, result, method, NOT_CACHED);
    const needsHint = methodOf(method).hint !== undefined && readString(message, type) === 'complete';
    const own = needsHint ? withHint(message, result) : message.subarray(result.start, result.end);
    return splice(message, { start: 0, end: message.length }, result, this.named(own));
  }

  /** Names the gateway in a result. JSON text of an object. */
  named(result: Buffer): Buffer {
    const span = wholeOf(result);
    const meta = memberOf(result, span, '_meta');
    if (!meta) return withMember(result, span, '_meta', `{${JSON.stringify(SERVER_INFO)}:${this.#serverInfo}}`);
    return splice(result, span, meta, this.#namedMeta(result, meta));
  }

  #stamped(text: Buffer, result: Span, method: string, hint: CacheHint): Buffer {
    const meta = memberOf(text, result, '_meta');
    if (!meta) return this.#insert(text, result.start + 1, method, hint);
    const members = Buffer.from(`${stampText(method, hint)},`);
    const open = result.start + 1;
    return Buffer.concat([
      text.subarray(0, open),
      members,
      text.subarray(open, meta.start),
      this.#namedMeta(text, meta),
      text.subarray(meta.end),
    ]);
  }

  #namedMeta(text: Buffer, meta: Span): Buffer {
    return isObjectSpan(text, meta)
      ? withMember(text, meta, SERVER_INFO, this.#serverInfo)
      : text.subarray(meta.start, meta.end);
  }

  /** Inserts all members at the offset `open`, behind the opening bracket of a result without `_meta`. */
  #insert(text: Buffer, open: number, method: string, hint: CacheHint): Buffer {
    const members = this.#membersAt(text, open, method, hint);
    const out = Buffer.allocUnsafe(text.length + members.length);
    text.copy(out, 0, 0, open);
    out.write(members, open, 'latin1');
    text.copy(out, open + members.length, open);
    return out;
  }

  /** Returns all members for the offset `open`, each byte as one character. */
  #membersAt(text: Buffer, open: number, method: string, hint: CacheHint): string {
    const key = stampText(method, hint);
    let members = this.#withMeta.get(key);
    if (members === undefined) {
      if (this.#withMeta.size >= MOST_TEXTS) this.#withMeta.clear();
      members = Buffer.from(`${key},"_meta":{${JSON.stringify(SERVER_INFO)}:${this.#serverInfo}}`).toString('latin1');
      this.#withMeta.set(key, members);
    }
    const isEmpty = byteAt(text, skipWhitespace(text, open)) === CLOSE_OBJECT;
    return isEmpty ? members : `${members},`;
  }
}

/** There are few hints, but their times may change. */
const MOST_TEXTS = 100;

const stampText = (method: string, { ttlMs, cacheScope }: CacheHint): string =>
  methodOf(method).hint ? `${COMPLETE_TYPE},"ttlMs":${String(ttlMs)},"cacheScope":"${cacheScope}"` : COMPLETE_TYPE;

/** Adds what the hint of a complete result lacks. */
function withHint(message: Buffer, result: Span): Buffer {
  let own = message.subarray(result.start, result.end);
  for (const [name, value] of Object.entries(NOT_CACHED))
    if (!memberOf(own, wholeOf(own), name)) own = withMember(own, wholeOf(own), name, JSON.stringify(value));
  return own;
}

/** Returns true if the text at `at`, behind a member of a member of the result, ends both, the result and the reply. */
function endsWithResult(message: Buffer, text: string, at: number, id: Buffer): boolean {
  if (text.startsWith(RESULT_LAST, at)) return at + RESULT_LAST.length === text.length;
  const idAt = at + RESULT_BEFORE_ID.length;
  return text.startsWith(RESULT_BEFORE_ID, at) && startsWith(message, idAt, id) && idAt + id.length + 1 === text.length;
}

/** Returns true if the members behind the one of `COMPLETE_TYPE` at `type` lead to the key at `key`: both are in one object. */
function leadsTo(message: Buffer, type: number, key: number): boolean {
  if (byteAt(message, type - 1) === BACKSLASH) return false; // the end of another key
  let at = type + COMPLETE_TYPE.length;
  while (at + 1 < key && byteAt(message, at) === COMMA && byteAt(message, at + 1) === QUOTE)
    at = skipValue(message, skipColon(message, skipKeyText(message, at + 1)));
  return at + 1 === key && byteAt(message, at) === COMMA;
}

/** Returns the offset behind the opening bracket of the result of a usual reply; undefined for one that must be scanned. */
function openOf(message: Buffer, id: Buffer): number | undefined {
  if (startsWith(message, 0, RESULT_FIRST)) return RESULT_FIRST.length;
  const at = ID_FIRST.length + id.length;
  return startsWith(message, 0, ID_FIRST) && startsWith(message, at, RESULT_AFTER_ID)
    ? at + RESULT_AFTER_ID.length
    : undefined;
}

const startsWith = (text: Buffer, at: number, word: Buffer): boolean => isWordAt(text, at, at + word.length, word);

const OLD_NOT_FOUND = String(CODE.resourceNotFound);

/** Returns an error with the code of this revision for a missing resource. @see MCP 2026-07-28, SEP-2164 */
function withNewCode(message: Buffer, error: Span): Buffer {
  const code = memberOf(message, error, 'code');
  if (!code || message.toString('latin1', code.start, code.end) !== OLD_NOT_FOUND) return message;
  return splice(message, wholeOf(message), code, String(CODE.invalidParams));
}
