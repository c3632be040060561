import type { Response } from 'express';
import type { Page } from '../consent/page.ts';
import type { OAuthError } from '../core/refusal.ts';

/** Headers of a reply that nobody may keep. */
export const NO_STORE = { 'Cache-Control': 'no-store', Pragma: 'no-cache', 'X-Content-Type-Options': 'nosniff' };

/** A reply that nobody may keep. @see RFC 6749 §5.1 */
export function sendJson(res: Response, status: number, body: unknown): void {
  res.status(status).set(NO_STORE).json(body);
}

/** A reply that anybody may read and keep for a while. @see RFC 8414 §3.2 */
export function sendPublicJson(res: Response, body: unknown): void {
  res.set({ 'Cache-Control': 'public, max-age=300', 'X-Content-Type-Options': 'nosniff' }).json(body);
}

export interface ErrorHeaders {
  readonly retryAfterSeconds?: number | undefined;
  /** Value of `WWW-Authenticate`. */
  readonly challenge?: string | undefined;
}

/** @see RFC 6749 §5.2 */
export function sendError(
  res: Response,
  { status, error, description }: OAuthError,
  { retryAfterSeconds, challenge }: ErrorHeaders = {},
): void {
  if (retryAfterSeconds !== undefined) res.set('Retry-After', String(retryAfterSeconds));
  if (challenge !== undefined) res.set('WWW-Authenticate', challenge);
  sendJson(res, status, { error, error_description: description });
}

export function sendPage(res: Response, { status, headers, body }: Page): void {
  res.status(status).set(headers).send(body);
}

/** A redirect that turns a POST into a GET, so that no form goes along. @see RFC 9700 §4.12 */
export function redirectTo(res: Response, url: string): void {
  res.status(303).set(NO_STORE).set('Referrer-Policy', 'no-referrer').set('Location', url).end();
}
