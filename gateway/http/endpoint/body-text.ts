import type { IncomingMessage } from 'node:http';
import { readBody } from '../body/read-body.ts';
import { RequestError, type InputProblem } from './request-error.ts';
import { decodeUtf8 } from '../../contract/text/utf8.ts';

/** Most parameters of a query or form, most cookies of a request, and most members of an object in a JSON body. */
export const MOST_PARAMETERS = 1_000;

/** Returns the refusal of a part of a request, such as its query, that has more parts than allowed. */
export function tooMany(path: string, parts: string, limit = MOST_PARAMETERS): RequestError {
  const message = `has more than ${String(limit)} ${parts}: send fewer`;
  return new RequestError({ kind: 'invalid_input', problems: [{ path, reason: 'too_many', message }] });
}

/** Returns true for a text with more parts than allowed. It counts separators, before anything is decoded or copied. */
export function hasTooMany(text: string, separator: string): boolean {
  let count = 1;
  for (let at = text.indexOf(separator); at !== -1; at = text.indexOf(separator, at + 1)) {
    count += 1;
    if (count > MOST_PARAMETERS) return true;
  }
  return false;
}

/** Returns the text of a query or form. Throws `RequestError` for too many parameters. */
export function counted(part: 'query' | 'form', encoded: string): string {
  if (hasTooMany(encoded, '&')) throw tooMany(part, 'parameters');
  return encoded;
}

/** Returns the values of each name in `application/x-www-form-urlencoded` text, in one pass. */
export function valuesByName(encoded: string): ReadonlyMap<string, readonly string[]> {
  const values = new Map<string, string[]>();
  for (const [name, value] of new URLSearchParams(encoded)) {
    const known = values.get(name);
    if (known) known.push(value);
    else values.set(name, [value]);
  }
  return values;
}

const MAX_BYTES = 64 * 1024;
export const FORM = 'application/x-www-form-urlencoded';
export const JSON_TYPE = 'application/json';

const NOT_UTF8: InputProblem = { path: 'body', reason: 'invalid', message: 'must be UTF-8' };

/**
 * Reads the text of a body. Throws `RequestError` for a content encoding, other bytes than UTF-8, more than `limit` bytes and, unless `expected` is
 * undefined, for another media type.
 */
export function readBodyText(
  req: IncomingMessage,
  expected: typeof FORM | typeof JSON_TYPE | undefined,
  limit = MAX_BYTES,
): Promise<string> {
  if ((expected !== undefined && mediaType(req) !== expected) || isEncoded(req))
    throw new RequestError({ kind: 'media_type', expected: expected ?? JSON_TYPE });
  return new Promise((resolve, reject) => {
    readBody(
      req,
      { limit },
      (body) => {
        const text = decodeUtf8(body);
        if (text === undefined) reject(new RequestError({ kind: 'invalid_input', problems: [NOT_UTF8] }));
        else resolve(text);
      },
      (why) => {
        const tooLarge = { kind: 'too_large', limit } as const;
        reject(new RequestError(why === 'too_large' ? tooLarge : { kind: 'client_left' }));
      },
    );
  });
}

const mediaType = ({ headers }: IncomingMessage): string =>
  (headers['content-type'] ?? '').split(';', 1).join('').trim().toLowerCase();

const isEncoded = ({ headers }: IncomingMessage): boolean => (headers['content-encoding'] ?? 'identity') !== 'identity';

/** Deepest level that is counted. Readers of bodies accept fewer, or as many. */
const MAX_DEPTH = 200;
const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Kind of the parts of which a JSON text has more than `limit`. */
interface Excess {
  readonly parts: string;
  readonly limit: number;
}

const MEMBERS: Excess = { parts: 'members in one object', limit: MOST_PARAMETERS };
const VALUES: Excess = { parts: 'values', limit: 10_000 };

/**
 * Returns the limit that a JSON text exceeds. It counts commas, before anything is parsed: a parsed value takes many times the time
 * and memory of its text. Text that is not JSON has any result.
 */
export function jsonExcess(text: string): Excess | undefined {
  const members = new Int32Array(MAX_DEPTH);
  let depth = -1;
  let values = 1;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      depth += 1;
      if (depth === MAX_DEPTH) return undefined;
      members[depth] = code === OPEN_OBJECT ? 1 : -VALUES.limit;
    } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) depth = Math.max(-1, depth - 1);
    else if (code === COMMA && depth >= 0) {
      values += 1;
      if (values > VALUES.limit) return VALUES;
      if ((members[depth] = (members[depth] ?? 0) + 1) > MEMBERS.limit) return MEMBERS;
    }
  }
  return undefined;
}

/** Returns the offset of the quote that ends the string at `at`. */
function endOfString(text: string, at: number): number {
  for (let end = at + 1; end < text.length; end += 1) {
    const code = text.charCodeAt(end);
    if (code === QUOTE) return end;
    if (code === BACKSLASH) end += 1;
  }
  return text.length;
}
