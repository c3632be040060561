import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express';
import { loggedPath, markLogged } from './log-refusals.ts';
import { requestIdOf } from './head/added-headers.ts';
import { stackOf } from '../telemetry/log.ts';
import type { Logger } from '../contract/logger.ts';

/** Answers 404. `hint` says what the client may have meant. */
export const notFound =
  (hint: string): RequestHandler =>
  (req, res) => {
    const path = `${req.baseUrl}${req.path}`.slice(0, 200);
    res.status(404).json({ error: 'not_found', message: `nothing is served at ${path}: ${hint}` });
  };

export const methodNotAllowed =
  (...allowed: string[]): RequestHandler =>
  (_req, res) => {
    res.setHeader('allow', allowed.join(', '));
    res.status(405).json({ error: 'method_not_allowed', message: `use ${allowed.join(' or ')}` });
  };

/** Answers a thrown error without its stack or message, which may hold internals. */
export const fail =
  (log: Logger): ErrorRequestHandler =>
  (error: unknown, req, res, next) => {
    const status = (error as { status?: unknown } | undefined)?.status;
    if (typeof status === 'number' && status >= 400 && status < 500) {
      if (!res.headersSent) res.status(status).json({ error: 'bad_request', message: 'the request could not be read' });
      return;
    }
    if (res.headersSent) {
      logFailure(log, error, req, res);
      next(error);
    } else answerInternalError(log, error, req, res);
  };

/** Logs an unexpected error and answers 500 with the request id only. */
export function answerInternalError(log: Logger, error: unknown, req: Request, res: Response): void {
  const request_id = logFailure(log, error, req, res);
  res.status(500).json({ error: 'internal_error', message: 'internal error', request_id });
}

function logFailure(log: Logger, error: unknown, req: Request, res: Response): string {
  const request_id = requestIdOf(res);
  log.error('request failed unexpectedly', { error: stackOf(error), path: loggedPath(req), request_id });
  markLogged(res);
  return request_id;
}
