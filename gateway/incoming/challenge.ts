import type { ServerResponse } from 'node:http';
import { EXPOSED_HEADERS } from '../http/origin-guard.ts';

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
export function challengeHeader({ error, description, scopes, metadataUrl }: Refusal): string {
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
  sendJson(res, refusal.status, { error: refusal.error ?? 'unauthorized', error_description: refusal.description });
}

/** Answers 503: credentials cannot be verified now. No challenge, because a new login would not help. */
export function sendUnavailable(res: ServerResponse, retryAfterSeconds: number): void {
  res.setHeader('retry-after', String(Math.max(1, Math.ceil(retryAfterSeconds))));
  sendJson(res, 503, {
    error: 'temporarily_unavailable',
    error_description: 'credentials cannot be checked at the moment: try again later',
  });
}

export function sendJson(res: ServerResponse, status: number, body: object): void {
  const bytes = Buffer.from(JSON.stringify(body));
  res.setHeader('cache-control', 'no-store');
  res.setHeader('access-control-expose-headers', EXPOSED_HEADERS);
  res.writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'content-length': bytes.length });
  res.end(bytes);
}
