import type { ErrorRequestHandler, RequestHandler } from 'express';
import type { Logger } from 'winston';
import { loggedPath, markLogged, requestIdOf } from './log-refusals.ts';
import { stackOf } from '../telemetry/log.ts';

/** `hint`: what the caller probably wants. */
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

/** The only place that turns a throw into a response: no stack, no message of ours. */
export const fail =
  (log: Logger): ErrorRequestHandler =>
  (error: unknown, req, res, next) => {
    const status = (error as { status?: unknown } | undefined)?.status;
    if (typeof status === 'number' && status >= 400 && status < 500) {
      if (!res.headersSent) res.status(status).json({ error: 'bad_request', message: 'the request could not be read' });
      return;
    }
    const request_id = requestIdOf(res);
    log.error('request failed unexpectedly', { error: stackOf(error), path: loggedPath(req), request_id });
    markLogged(res);
    if (res.headersSent) next(error);
    else res.status(500).json({ error: 'internal_error', message: 'internal error', request_id });
  };
