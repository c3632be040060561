import type { ServerResponse } from 'node:http';
import { errorMessage } from '../message.ts';

/** A refusal as one JSON-RPC error without an id. */
export function refuse(res: ServerResponse, status: number, code: number, message: string): void {
  if (res.headersSent) return;
  const body = errorMessage(null, code, message);
  res.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length });
  res.end(body);
}

const UNKNOWN_SESSION = 'session not found: send initialize to open a new one\n';

/** The one answer for unknown, ended and foreign sessions; plain text, because clients then open a new session. */
export function refuseSession(res: ServerResponse): void {
  res.writeHead(404, { 'content-type': 'text/plain; charset=utf-8', 'content-length': UNKNOWN_SESSION.length });
  res.end(UNKNOWN_SESSION);
}
