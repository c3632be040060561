import type { Response } from 'express';

/** Headers of a reply that must not be cached. */
export const NO_STORE = { 'Cache-Control': 'no-store', Pragma: 'no-cache', 'X-Content-Type-Options': 'nosniff' };

/** Sends a reply that must not be cached. Head and body are one write; `json` of Express makes two of a long body. @see RFC 6749 §5.1 */
export function sendJson(res: Response, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  res.status(status).set(NO_STORE);
  res.setHeader('Content-Type', 'application/json; charset=utf-8');
  res.setHeader('Content-Length', Buffer.byteLength(text));
  res.end(text);
}

/** Sends a public reply that may be cached for five minutes. @see RFC 8414 §3.2 */
export function sendPublicJson(res: Response, body: unknown): void {
  res.set({ 'Cache-Control': 'public, max-age=300', 'X-Content-Type-Options': 'nosniff' }).json(body);
}

/** Redirects with 303, which turns a POST into a GET, so that no form is sent on. @see RFC 9700 §4.12 */
export function redirectTo(res: Response, url: string): void {
  res.status(303).set(NO_STORE).set('Referrer-Policy', 'no-referrer').set('Location', url).end();
}
