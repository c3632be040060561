import type { IncomingMessage, ServerResponse } from 'node:http';
import { refuseUnread } from '../../http/body/refuse-too-large.ts';
import { overBudget } from '../answers/ending.ts';
import { RETRY_AFTER_SECONDS } from '../budgets/limits.ts';
import { CODE } from '../error-codes.ts';
import { errorMessage } from '../message.ts';

/** Answers with a status and a JSON-RPC error. `id` is the JSON text of the request's id, where it is known. */
export function refuse(
  res: ServerResponse,
  status: number,
  code: number,
  message: string,
  id: Buffer | null = null,
): void {
  if (res.headersSent) return;
  const body = errorMessage(id, code, message);
  res.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length });
  res.end(body);
}

const BODIES_FULL = 'too many large requests are in memory: try again';

/** Answers 503 to a request whose body is still arriving and exceeds the budget. */
export function refuseBody(req: IncomingMessage, res: ServerResponse): void {
  const body = errorMessage(null, CODE.internal, BODIES_FULL, overBudget('request_bytes'));
  const headers = { 'content-type': 'application/json', 'retry-after': String(RETRY_AFTER_SECONDS) };
  refuseUnread(req, res, 503, body, headers);
}

const UNKNOWN_SESSION = 'session not found: send initialize to open a new one\n';

/** Answers 404 for unknown, ended and foreign sessions alike. Plain text, because clients then open a new session. */
export function refuseSession(res: ServerResponse): void {
  res.writeHead(404, { 'content-type': 'text/plain; charset=utf-8', 'content-length': UNKNOWN_SESSION.length });
  res.end(UNKNOWN_SESSION);
}
