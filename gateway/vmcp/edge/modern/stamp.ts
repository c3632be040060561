import { scanBackendEnvelope } from '../../../http/json-scan.ts';
import {
  byteAt,
  CLOSE_OBJECT,
  isObjectSpan,
  isWordAt,
  memberOf,
  skipWhitespace,
  splice,
  withMember,
  type Span,
} from '../../../http/json-walk.ts';
import { shortText } from '../../../http/short-text.ts';
import { NOT_CACHED, type CacheHint } from '../../aggregation/cache-hint.ts';
import { LIST_OF_METHOD } from '../../aggregation/read-catalog.ts';
import { SERVER_INFO } from '../../era.ts';
import { CODE } from '../../error-codes.ts';
import { isPlain } from '../../transport/modern/result-text.ts';

/** Methods whose results carry a `CacheHint`. */
const CACHEABLE: ReadonlySet<string> = new Set([
  ...LIST_OF_METHOD.keys(),
  'server/discover',
  'resources/read',
  'skills/get',
]);

const RESULT_TYPE = Buffer.from('"resultType"');
const META_KEY = Buffer.from('"_meta"');
const RESULT_FIRST = Buffer.from('{"result":{');
const ID_FIRST = Buffer.from('{"jsonrpc":"2.0","id":');
const RESULT_AFTER_ID = Buffer.from(',"result":{');
const COMPLETE = '"resultType":"complete"';

/** Writes what a client of the revision without sessions expects into results that a server of an older one sent. */
export class Stamp {
  readonly #serverInfo: string;
  readonly #withMeta = new Map<string, string>();

  /** `serverInfo` is JSON text. */
  constructor(serverInfo: string) {
    this.#serverInfo = serverInfo;
  }

  /** Returns the result with `resultType`, the server's name and for some methods a `CacheHint`. JSON text of an object. */
  result(result: Buffer, method: string, hint: CacheHint): Buffer {
    if (result.includes(RESULT_TYPE) && memberOf(result, whole(result), 'resultType')) return result;
    return this.#stamped(result, whole(result), method, hint);
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
    if (open === undefined || !isPlain(text)) return this.#scanned(message, method);
    return text.slice(0, open) + this.#membersAt(message, open, method, NOT_CACHED) + text.slice(open);
  }

  #scanned(message: Buffer, method: string): Buffer {
    const { result, error } = scanBackendEnvelope(message);
    if (error) return withNewCode(message, error);
    if (!result || !isObjectSpan(message, result) || memberOf(message, result, 'resultType')) return message;
    return this.#stamped(message, result, method, NOT_CACHED);
  }

  #stamped(text: Buffer, result: Span, method: string, hint: CacheHint): Buffer {
    const meta = memberOf(text, result, '_meta');
    if (!meta) return this.#insert(text, result.start + 1, method, hint);
    const members = Buffer.from(`${stampText(method, hint)},`);
    const isNamed = !isObjectSpan(text, meta) || memberOf(text, meta, SERVER_INFO) !== undefined;
    const named = isNamed ? text.subarray(meta.start, meta.end) : withMember(text, meta, SERVER_INFO, this.#serverInfo);
    const open = result.start + 1;
    return Buffer.concat([
      text.subarray(0, open),
      members,
      text.subarray(open, meta.start),
      named,
      text.subarray(meta.end),
    ]);
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

const whole = (text: Buffer): Span => ({ start: skipWhitespace(text, 0), end: text.length });

const stampText = (method: string, { ttlMs, cacheScope }: CacheHint): string =>
  CACHEABLE.has(method) ? `${COMPLETE},"ttlMs":${String(ttlMs)},"cacheScope":"${cacheScope}"` : COMPLETE;

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
  return splice(message, whole(message), code, String(CODE.invalidParams));
}
