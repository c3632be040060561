/** Result of reading the `Authorization` header of a request. */
export type Bearer =
  | { readonly kind: 'token'; readonly token: string }
  /** No header, or credentials of another scheme. @see RFC 6750 §3.1 */
  | { readonly kind: 'none' }
  /** Cannot be read as one credential. */
  | { readonly kind: 'malformed'; readonly reason: 'several_headers' | 'no_token' | 'several_parts' }
  /** One credential that no issuer can have issued. */
  | { readonly kind: 'not_a_token'; readonly reason: 'charset' | 'too_long' };

const MAX_TOKEN_CHARS = 16 * 1024;
const B64TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;
const NAME = 'authorization';

const NONE: Bearer = { kind: 'none' };

/**
 * Reads the bearer token of a request from its headers as they came, names and values in turn: of several Authorization
 * headers `req.headers` shows one. A token in the query or the body is none.
 * @see RFC 6750 §2.1
 */
export function readBearer(rawHeaders: readonly string[]): Bearer {
  let value: string | undefined;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length !== NAME.length || name.toLowerCase() !== NAME) continue;
    if (value !== undefined) return { kind: 'malformed', reason: 'several_headers' };
    value = rawHeaders[at + 1];
  }
  return value === undefined ? NONE : readCredentials(value);
}

function readCredentials(value: string): Bearer {
  if (value.length < 6 || value.slice(0, 6).toLowerCase() !== 'bearer') return NONE;
  if (value.length === 6) return { kind: 'malformed', reason: 'no_token' };
  if (value[6] !== ' ') return value[6] === '\t' ? { kind: 'malformed', reason: 'several_parts' } : NONE;
  const token = value.slice(7).trimStart();
  if (token === '') return { kind: 'malformed', reason: 'no_token' };
  if (token.length > MAX_TOKEN_CHARS) return { kind: 'not_a_token', reason: 'too_long' };
  if (B64TOKEN.test(token)) return { kind: 'token', token };
  const isList = token.includes(',');
  if (!isList && /[ \t]/.test(token)) return { kind: 'malformed', reason: 'several_parts' };
  return { kind: 'not_a_token', reason: 'charset' };
}
