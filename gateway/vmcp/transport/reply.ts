import type { Envelope, Span } from '../../http/json-scan.ts';
import { isObjectSpan } from '../../http/json-walk.ts';

/** Returns a text without the byte order mark that some servers write before it. */
export const withoutMark = (text: Buffer): Buffer =>
  text[0] === 0xef && text[1] === 0xbb && text[2] === 0xbf ? text.subarray(3) : text;

/** Returns the number that the id of a reply stands for. Some servers repeat 7 as `"7"` or as `7.0`. NaN for another text. */
export function numberOfId(message: Buffer, { start, end }: Span): number {
  const text = message.toString('latin1', start, end);
  return /^"?\d+(?:\.0+)?"?$/u.test(text) ? Number(text.replaceAll('"', '')) : Number.NaN;
}

/**
 * Returns the reason why clients cannot read a response; undefined for a valid one. Clients drop a message without
 * exactly one object `result` or one object `error`, and then wait for ever. @see JSON-RPC 2.0 section 5
 */
export function replyFault(message: Buffer, { result, error }: Envelope): string | undefined {
  if (result !== undefined && error !== undefined) return 'the reply has a result and an error';
  if (result !== undefined && !isObjectSpan(message, result)) return 'the result is not an object';
  if (error !== undefined && !isObjectSpan(message, error)) return 'the error is not an object';
  return undefined;
}

/**
 * Returns type and subtype of a `Content-Type`, in lower case and without parameters, also of a header that was sent twice.
 * @see RFC 9110 section 8.3.1
 */
export function mediaTypeOf(header: string | readonly string[] | undefined): string {
  const type = (String(header ?? '').split(';', 1)[0] ?? '').trim().toLowerCase();
  if (!type.includes(',')) return type;
  const [first = '', ...others] = type.split(',').map((each) => each.trim());
  return others.every((each) => each === first) ? first : type;
}
