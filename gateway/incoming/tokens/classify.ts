import { TokenRefused } from '../refusal.ts';
import { isObject, type JsonObject } from '../../contract/json.ts';

export interface JwtParts {
  readonly header: JsonObject & { readonly alg: string };
  /** Not decoded yet. */
  readonly payload: string;
}

const BASE64URL = /^[\w-]*$/;

/** Decodes a base64url part to a JSON object. Returns undefined for anything else. */
export function decodeObject(part: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns the parts of a signed JWT, and undefined for an opaque token, which is never verified. Throws `TokenRefused` for an encrypted token, and for a token that begins with the
 * header of a JWT and is not one, such as a JWT with `=` or `.` at its end: each spelling would cost an introspection.
 */
export function classify(token: string): JwtParts | undefined {
  const parts = token.split('.', 6);
  if (parts.length === 5) throw new TokenRefused('encrypted');
  const header = joseHeader(token);
  if (header === undefined) return undefined;
  const [, payload = ''] = parts;
  if (parts.length !== 3 || !parts.every((part) => BASE64URL.test(part))) throw new TokenRefused('malformed');
  return { header, payload };
}

/** Returns true for a whole JWE in its compact form, and for any other five parts without the header of a JWT. @see RFC 7516 §7.1 */
export function isJwe(token: string): boolean {
  const parts = token.split('.', 6);
  if (parts.length !== 5 || !parts.every((part) => BASE64URL.test(part))) return false;
  const header = joseHeader(token);
  return header === undefined || typeof header['enc'] === 'string';
}

/** Returns the first non-empty part if it decodes to a header. Most opaque tokens have no dot and fail the first check. */
function joseHeader(token: string): JwtParts['header'] | undefined {
  const start = token.search(/[^.~]/);
  const end = token.indexOf('.', start);
  if (start === -1 || (end === -1 && token[start] !== 'e')) return undefined;
  const header = decodeObject(end === -1 ? token.slice(start) : token.slice(start, end));
  return typeof header?.['alg'] === 'string' ? (header as JwtParts['header']) : undefined;
}
