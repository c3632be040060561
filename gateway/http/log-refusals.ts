import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Express, Response } from 'express';
import { requestIdOf } from './head/added-headers.ts';
import type { RefusalLog } from '../telemetry/refusal-log.ts';

const PATH_CHARS = 200;

/** Returns the path of a request without its query, shortened for the log. */
export function loggedPath(req: IncomingMessage & { readonly originalUrl?: string }): string {
  const target = req.originalUrl ?? req.url ?? '';
  const query = target.indexOf('?');
  return target.slice(0, query < 0 ? PATH_CHARS : Math.min(query, PATH_CHARS));
}

/** Sets the reason of a refusal for the log, one of a small set of words. */
export function setRefusalReason(res: Response, reason: string, message = 'request refused'): void {
  res.locals['refusalReason'] = reason;
  res.locals['refusalMessage'] = message;
}

/** Marks an answer that is logged already. */
export function markLogged(res: Response): void {
  res.locals['refusalLogged'] = true;
}

/**
 * Logs each answer of `app` with a status of 400 or more, with the request id that the client received. The hook is a method of the
 * prototype of all responses, so that a successful answer costs one comparison.
 */
export function logRefusals(app: Express, refusals: RefusalLog): void {
  const { writeHead } = app.response as unknown as { writeHead: (...args: unknown[]) => ServerResponse };
  const hook = function (this: Response, status: number, message?: unknown, headers?: unknown): ServerResponse {
    if (status >= 400) report(this, status, refusals);
    return writeHead.call(this, status, message, headers);
  };
  Object.assign(app.response, { writeHead: hook });
}

/** Answer of an app, or of Node itself, which answers a request without `Host` or with an unknown `Expect` before Express sees it. */
type Answer = Omit<Response, 'locals'> & { readonly locals?: Readonly<Record<string, unknown>> };

function report(res: Answer, status: number, refusals: RefusalLog): void {
  const { req, locals = {} } = res;
  const path = loggedPath(req);
  if (locals['refusalLogged'] === true || path === '/readyz') return;
  const reason = locals['refusalReason'] as string | undefined;
  refusals.write({
    kind: `${String(status)} ${reason ?? ''}`.trimEnd(),
    level: status >= 500 ? 'warn' : 'info',
    message: (locals['refusalMessage'] as string | undefined) ?? 'request refused',
    facts: { status, ...(reason !== undefined && { reason }), method: req.method, path, request_id: requestIdOf(res) },
  });
}
