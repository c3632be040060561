import type { ServerResponse } from 'node:http';
import { EXPOSED_HEADERS } from '../http/origin-guard.ts';

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
 * headers `req.headers` shows only the first. A token in the query or the body does not count.
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

/** Content of a rejection. @see RFC 6750 §3 */
export interface Refusal {
  readonly status: 400 | 401 | 403;
  /** Absent when the request had no credentials at all. */
  readonly error?: 'invalid_request' | 'invalid_token' | 'insufficient_scope' | undefined;
  /** One sentence for the user. */
  readonly description: string;
  /** Scopes that the client needs. */
  readonly scopes: readonly string[];
  /** Absolute URL of the protected resource metadata; absent where nothing is protected. */
  readonly metadataUrl: string | undefined;
}

/** Returns a quoted-string without control characters and characters that a header cannot carry. @see RFC 9110 §5.6.4 */
const quoted = (text: string): string =>
  `"${text.replace(/[^\x20-\x7E]/g, '').replace(/["\\]/g, (character) => `\\${character}`)}"`;

/** `WWW-Authenticate` of a refusal, `resource_metadata` first. @see RFC 9728 §5.1 */
function challengeHeader({ error, description, scopes, metadataUrl }: Refusal): string {
  const parameters: [string, string | undefined][] = [
    ['resource_metadata', metadataUrl],
    ['scope', scopes.length > 0 ? scopes.join(' ') : undefined],
    ['error', error],
    ['error_description', error === undefined ? undefined : description],
  ];
  const given = parameters.flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${quoted(value)}`]));
  return given.length > 0 ? `Bearer ${given.join(', ')}` : 'Bearer';
}

/** Sends a challenge. Keeps the headers that the response already has. */
export function sendChallenge(res: ServerResponse, refusal: Refusal): void {
  res.setHeader('www-authenticate', challengeHeader(refusal));
  sendRefusal(res, refusal.status, { error: refusal.error ?? 'unauthorized', error_description: refusal.description });
}

/** Answers 503: credentials cannot be verified now. No challenge, because a new login would not help. */
export function sendUnavailable(res: ServerResponse, retryAfterSeconds: number): void {
  res.setHeader('retry-after', String(Math.max(1, Math.ceil(retryAfterSeconds))));
  sendRefusal(res, 503, {
    error: 'temporarily_unavailable',
    error_description: 'credentials cannot be checked at the moment: try again later',
  });
}

export function sendRefusal(res: ServerResponse, status: number, body: object): void {
  const bytes = Buffer.from(JSON.stringify(body));
  res.setHeader('cache-control', 'no-store');
  res.setHeader('access-control-expose-headers', EXPOSED_HEADERS);
  res.writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'content-length': bytes.length });
  res.end(bytes);
}
