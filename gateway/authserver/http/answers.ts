import type { Response } from 'express';
import { sendJson } from '../../http/endpoint/replies.ts';
import type { OAuthError } from '../core/refusal.ts';

export interface ErrorHeaders {
  readonly retryAfterSeconds?: number | undefined;
  /** Value of `WWW-Authenticate`. */
  readonly challenge?: string | undefined;
}

/** Sends an error of an OAuth endpoint. @see RFC 6749 §5.2 */
export function sendError(
  res: Response,
  { status, error, description }: OAuthError,
  { retryAfterSeconds, challenge }: ErrorHeaders = {},
): void {
  if (retryAfterSeconds !== undefined) res.set('Retry-After', String(retryAfterSeconds));
  if (challenge !== undefined) res.set('WWW-Authenticate', challenge);
  sendJson(res, status, { error, error_description: description });
}
